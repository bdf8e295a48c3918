//! Lines and areas that stay sharp at any size, for a browser or a drawing program.

use report::Picture;

use super::{PictureFormat, PictureLook, TooLarge};
use crate::chart;

pub(super) struct Svg;

impl PictureFormat for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn meaning(&self) -> &'static str {
        "A drawing that stays sharp at any size"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["svg"]
    }

    fn media_type(&self) -> &'static str {
        "image/svg+xml"
    }

    fn is_drawn(&self) -> bool {
        true
    }

    fn render(&self, picture: &Picture, look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        Ok(chart::draw(picture, &look.style()).into_bytes())
    }
}
