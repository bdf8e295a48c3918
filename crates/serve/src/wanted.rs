//! The format in which an answer is wanted: by the ending of the address, or by what the client
//! says that it accepts.

use std::path::Path;

use axum::http::{HeaderMap, header};
use view::{Format, PictureFormat};

/// A page for a browser, one of the formats, or a picture by itself.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    Page,
    Format(&'static dyn Format),
    Picture(&'static dyn PictureFormat),
}

impl Wanted {
    /// What a web server calls it.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Wanted::Page => HTML,
            Wanted::Format(format) => format.media_type(),
            Wanted::Picture(format) => format.media_type(),
        }
    }
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// Endings of addresses that are a format and not a part of a name.
pub(crate) const ENDINGS: [&str; 5] = ["json", "csv", "txt", "md", PICTURE_ENDING];
/// The one that asks for a page's first picture by itself.
const PICTURE_ENDING: &str = "svg";

/// A path without its ending, and what the ending asks for.
pub(crate) fn without_ending(path: &str) -> (&str, Option<Wanted>) {
    let format = ENDINGS.iter().find_map(|ending| {
        let rest = path.strip_suffix(ending)?.strip_suffix('.')?;
        let file = format!("_.{ending}");
        let wanted = match *ending {
            PICTURE_ENDING => Wanted::Picture(view::picture_format_by_extension(Path::new(&file))?),
            _ => Wanted::Format(view::by_extension(Path::new(&file))?),
        };
        Some((rest, wanted))
    });
    match format {
        Some((rest, wanted)) => (rest, Some(wanted)),
        None => (path, None),
    }
}

/// What the client accepts best; a page, unless it says otherwise.
pub(crate) fn accepted(headers: &HeaderMap) -> Wanted {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let mut best: (f32, Wanted) = (0.0, Wanted::Page);
    for offer in accept.unwrap_or_default().split(',') {
        let mut parts = offer.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        let wanted = match media_type {
            "text/html" | "*/*" | "text/*" => Wanted::Page,
            _ => {
                let is_meant = |format: &&&dyn Format| {
                    format.media_type().split(';').next() == Some(media_type)
                };
                match view::FORMATS.iter().find(is_meant) {
                    Some(format) => Wanted::Format(*format),
                    None => continue,
                }
            }
        };
        if weight > best.0 {
            best = (weight, wanted);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &'static str, expected: &str) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        assert_eq!(name(accepted(&headers)), expected, "{accept}");
    }

    fn name(wanted: Wanted) -> &'static str {
        match wanted {
            Wanted::Page => "page",
            Wanted::Format(format) => format.name(),
            Wanted::Picture(format) => format.name(),
        }
    }

    #[test]
    fn the_client_gets_what_it_likes_best() {
        check("*/*", "page");
        check("text/html,application/xhtml+xml,*/*;q=0.8", "page");
        check("application/json", "json");
        check("text/csv;q=0.5, application/json;q=0.9, image/png", "json");
        check("image/png", "page");
        check("text/plain, text/html;q=0.1", "text");
    }

    #[test]
    fn only_formats_are_endings() {
        let split = |path: &str| {
            let (rest, wanted) = without_ending(path);
            format!("{rest} {}", name(wanted.unwrap_or(Wanted::Page)))
        };
        assert_eq!(split("ann.json"), "ann json");
        assert_eq!(split("jane.doe"), "jane.doe page");
        assert_eq!(split("users.txt"), "users text");
        assert_eq!(split("gpus.svg"), "gpus svg");
    }
}
