//! Pixels, for a slide, a mail or a paper.
//!
//! The SVG is drawn with a font of our own, so that no machine needs to have one, and every
//! machine draws the same. The font has Latin, Greek and Cyrillic letters. Others are spelled out.

use std::sync::{Arc, LazyLock};

use report::Picture;
use resvg::tiny_skia::{self, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::drawable::{missing_characters, spelled_out};
use super::{PictureFormat, PictureLook, TooLarge};
use crate::chart;
use crate::theme::Color;

pub(super) struct Png;

impl PictureFormat for Png {
    fn name(&self) -> &'static str {
        "png"
    }

    fn meaning(&self) -> &'static str {
        "Pixels, for a slide, a mail or a paper"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["png"]
    }

    fn media_type(&self) -> &'static str {
        "image/png"
    }

    fn is_drawn(&self) -> bool {
        true
    }

    fn render(&self, picture: &Picture, look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        let pixels = drawn(&tree(picture, look), look)?;
        Ok(written(&pixels, look.dots_per_inch))
    }
}

/// A picture takes four bytes a pixel while it is drawn: 400 MB at the most.
const MOST_PIXELS: u64 = 100_000_000;

/// The drawing with its letters set. No character in it is an empty box.
pub(super) fn tree(picture: &Picture, look: &PictureLook) -> Tree {
    let options = Options {
        font_family: "Inter".to_owned(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let set = |picture: &Picture| {
        Tree::from_str(&chart::draw(picture, &look.style()), &options)
            .expect("a drawing of ours is SVG, whatever names are in it")
    };
    let tree = set(picture);
    let missing = missing_characters(&tree, &options);
    if missing.is_empty() { tree } else { set(&spelled_out(picture, &missing)) }
}

fn drawn(tree: &Tree, look: &PictureLook) -> Result<Pixmap, TooLarge> {
    let scale = look.dots_per_inch / PictureLook::UNITS_PER_INCH;
    let pixels = |units: f32| (f64::from(units) * scale).round().max(1.0) as u64;
    let (width_pixels, height_pixels) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let too_large = TooLarge { width_pixels, height_pixels };
    if width_pixels.saturating_mul(height_pixels) > MOST_PIXELS {
        return Err(too_large);
    }
    let (Ok(width), Ok(height)) = (u32::try_from(width_pixels), u32::try_from(height_pixels))
    else {
        return Err(too_large);
    };
    let mut pixels = Pixmap::new(width, height).ok_or(too_large)?;
    // The drawing's own paper may end within the last pixels.
    let Color(red, green, blue) = look.theme.paper;
    pixels.fill(tiny_skia::Color::from_rgba8(red, green, blue, u8::MAX));
    let scale = scale as f32;
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    Ok(pixels)
}

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../font/Inter-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../../font/Inter-SemiBold.ttf").to_vec());
    fonts.set_sans_serif_family("Inter");
    Arc::new(fonts)
});

/// The file, with how large it is on paper. There is paper behind everything, so no pixel is
/// seen through, and the fourth byte of each is left out.
fn written(pixels: &Pixmap, dots_per_inch: f64) -> Vec<u8> {
    const INCHES_PER_METER: f64 = 1.0 / 0.0254;
    let dots_per_meter = (dots_per_inch * INCHES_PER_METER).round() as u32;
    let mut colors = Vec::with_capacity(pixels.data().len() / 4 * 3);
    for pixel in pixels.data().chunks_exact(4) {
        colors.extend_from_slice(&pixel[..3]);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_filter(png::Filter::Up);
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: dots_per_meter,
        yppu: dots_per_meter,
        unit: png::Unit::Meter,
    }));
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&colors)?;
        writer.finish()
    });
    written.expect("memory takes whatever is written to it, and the size is the pixels' own");
    file
}
