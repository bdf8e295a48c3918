//! What makes the program at home in a shell.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll\n  \
    plimsoll completions zsh > ~/.zfunc/_plimsoll\n  \
    plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish")]
pub(crate) struct Completions {
    /// Which one
    pub(crate) shell: Shell,
}

#[derive(Args)]
#[command(after_help = "Example:\n  plimsoll man /usr/local/share/man/man1 && man plimsoll-report")]
pub(crate) struct Man {
    /// A folder, made if it is not there; pages of that name in it are replaced
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
