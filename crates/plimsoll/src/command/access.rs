//! `plimsoll user` and `plimsoll token`: who may see the pages.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use serve::{Scope, Store};

use crate::cli::{Token, User};
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) fn user(config: &Config, arguments: &User) -> Result<Outcome> {
    let store = store(config)?;
    match arguments {
        User::Add { name } => {
            store.set_user(name, &password(name)?)?;
            complain(&format!("{name} can log in now"));
            Ok(Outcome::Done)
        }
        User::Remove { name } => Ok(removed(store.remove_user(name)?, "user", name)),
        User::Logout { name } => {
            store.log_out(name, config.now())?;
            complain(&format!("ended all sessions of {name}"));
            Ok(Outcome::Done)
        }
    }
}

pub(crate) fn token(config: &Config, arguments: &Token) -> Result<Outcome> {
    let store = store(config)?;
    match arguments {
        Token::Add { name, scope } => {
            let scope = Scope::by_name(scope).context("the command line has no other scopes")?;
            let token = store.add_token(name, scope)?;
            complain("this is shown once; send it as Authorization: Bearer TOKEN");
            writeln!(io::stdout(), "{token}")?;
            Ok(Outcome::Done)
        }
        Token::Remove { name } => Ok(removed(store.remove_tokens(name)?, "token", name)),
    }
}

fn removed(was_there: bool, what: &str, name: &str) -> Outcome {
    if was_there {
        Outcome::Done
    } else {
        complain(&format!("there is no {what} {name:?}"));
        Outcome::Findings
    }
}

fn store(config: &Config) -> Result<Store> {
    match &config.access {
        Some(access) => Store::create(&access.folder),
        None => bail!("nobody needs to log in yet: write [access] into plimsoll.toml first"),
    }
}

/// Asked for twice where a person types, and not shown; else a line of the input.
fn password(name: &str) -> Result<String> {
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).context("cannot read the password")?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let terminal = console::Term::stderr();
    let ask = |words: &str| {
        terminal.write_str(words)?;
        terminal.read_secure_line()
    };
    let password = ask(&format!("Password of {name}: ")).context("cannot read the password")?;
    if ask("The same again: ").context("cannot read the password")? != password {
        bail!("these were two passwords; nothing is changed");
    }
    Ok(password)
}
