//! The one place that knows what a colour is.

pub(crate) mod mail;
mod palette;

pub(crate) use palette::{Color, Fill, Hatch, NIGHT, letter, night_rules};
pub use palette::{THEMES, Theme};

/// Begins bold letters on a terminal.
pub(crate) const BOLD: &str = "\x1b[1m";

/// Begins what a reader must not miss on a terminal.
pub(crate) const WARNING: &str = "\x1b[33m";

/// Begins a bar on a terminal that is long, middling or short beside the longest.
pub(crate) const LONG_BAR: &str = "\x1b[31m";
pub(crate) const MIDDLING_BAR: &str = "\x1b[33m";
pub(crate) const SHORT_BAR: &str = "\x1b[32m";

/// Ends any of these.
pub(crate) const RESET: &str = "\x1b[0m";

/// The colours of a page by day and by night, as CSS variables.
pub(crate) const PAGE_COLORS: &str = "\
:root { color-scheme: light dark;
  --paper: #fdfdfb; --ink: #14212b; --faint: #51606b; --line: #cfd6da; --stripe: #f2f5f5;
  --warning: #8a4b00; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #10181e; --ink: #e4eaee; --faint: #9aa8b2; --line: #33424d; --stripe: #172129;
  --warning: #f0b35a; --link: #7db8f5; } }
";
