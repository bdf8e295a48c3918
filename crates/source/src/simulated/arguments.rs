//! Takes a command's words apart as the schedulers' own programs do, complaints included.

use crate::machine::{Command, Failure};

/// The options given, each with its value where it takes one, and the other words.
pub(super) struct Arguments<'a> {
    program: &'static str,
    options: Vec<(&'static str, &'a str)>,
    pub(super) words: Vec<&'a str>,
}

/// An option that a simulated program knows: its names, the first of them its own, and whether a
/// value follows.
pub(super) struct Known {
    pub(super) names: &'static [&'static str],
    pub(super) takes_value: bool,
}

pub(super) const fn flag(names: &'static [&'static str]) -> Known {
    Known { names, takes_value: false }
}

pub(super) const fn value(names: &'static [&'static str]) -> Known {
    Known { names, takes_value: true }
}

impl<'a> Arguments<'a> {
    pub(super) fn of(command: &'a Command, known: &[Known]) -> Result<Arguments<'a>, Failure> {
        let mut arguments =
            Arguments { program: command.program, options: Vec::new(), words: Vec::new() };
        let mut words = command.arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                arguments.words.push(word);
                continue;
            }
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let Some(option) = known.iter().find(|option| option.names.contains(&name)) else {
                return Err(arguments.failure(format!(
                    "{program}: unrecognized option '{name}'\n\
                     Try \"{program} --help\" for more information",
                    program = command.program
                )));
            };
            let given = match (option.takes_value, inline) {
                (true, Some(value)) => value,
                (true, None) => words.next().ok_or_else(|| {
                    arguments.failure(format!(
                        "{}: option '{name}' requires an argument",
                        command.program
                    ))
                })?,
                (false, Some(_)) => {
                    return Err(arguments.failure(format!(
                        "{}: option '{name}' doesn't allow an argument",
                        command.program
                    )));
                }
                (false, None) => "",
            };
            arguments.options.push((option.names[0], given));
        }
        Ok(arguments)
    }

    /// The value of an option, the last one where it is given twice.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.options.iter().rev().find(|(given, _)| *given == name).map(|&(_, value)| value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The program gives up, as its users see it.
    pub(super) fn failure(&self, complaint: impl Into<String>) -> Failure {
        Failure::Status {
            program: self.program.to_owned(),
            status: "exit status: 1".to_owned(),
            complaint: complaint.into(),
        }
    }
}
