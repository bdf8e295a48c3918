//! Who coordinates which accounts: `sacctmgr show account withcoord`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::machine::Command;

/// Asks the accounting database. It names those who coordinate an account above one, too.
pub fn sacctmgr_show_coordinators() -> Command {
    let arguments = [
        "--noheader",
        "--parsable2",
        "show",
        "account",
        "withcoord",
        "format=Account,Coordinators",
    ];
    Command {
        program: "sacctmgr",
        arguments: arguments.map(str::to_owned).into(),
        time_limit: Duration::from_secs(60),
    }
}

/// Accounts by who coordinates them. What is no line of two cells names nobody.
pub fn coordinators(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (account, users) in text.lines().filter_map(|line| line.trim_end().split_once('|')) {
        let users = users.split(',').filter(|user| !user.is_empty() && !user.contains('|'));
        for user in users.filter(|_| !account.is_empty()) {
            accounts.entry(user.to_owned()).or_default().push(account.to_owned());
        }
    }
    accounts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As sacctmgr of SLURM 22.05.8 printed it after `add coordinator account=ml names=ann,bob`;
    /// subacc is an account below ml.
    #[test]
    fn who_coordinates_an_account_coordinates_those_below() {
        let found = coordinators("ml|ann,bob\nphysics|\nroot|\nsub|\nsubacc|ann,bob\n");
        let accounts = vec!["ml".to_owned(), "subacc".to_owned()];
        let expected = [("ann".to_owned(), accounts.clone()), ("bob".to_owned(), accounts)];
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn an_error_names_nobody() {
        assert!(coordinators("sacctmgr: error: Unable to connect to database\n").is_empty());
        assert!(coordinators("|ann\n\n").is_empty());
    }
}
