//! Prints the settings of an access point of the simulated pool.

use super::arguments::{Arguments, flag, value};
use super::condor_json::access_point;
use crate::machine::{Command, Failure};

/// The settings that an access point defines. The simulated history keeps every execution, so
/// the files are large.
const DEFINED: [(&str, &str); 2] =
    [("ENABLE_HISTORY_ROTATION", "true"), ("MAX_EPOCH_HISTORY_LOG", "1073741824")];

/// `condor_config_val -schedd -name AP SETTING...`: a line for each setting.
pub(super) fn condor_config_val(
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &[flag(&["-schedd"]), value(&["-name"])])?;
    if !arguments.has("-schedd") || access_point(&arguments)?.is_none() {
        return Err(arguments.failure("this simulated site prints only settings of a schedd"));
    }
    for word in &arguments.words {
        let defined = DEFINED.iter().find(|(name, _)| name == word);
        let value = defined.map_or("Not defined", |(_, value)| value);
        sink(format!("{value}\n").as_bytes());
    }
    Ok(())
}
