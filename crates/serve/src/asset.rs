//! The style sheet and the script, at addresses that name their content: a browser keeps them for
//! good, and asks again when they are others.

use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::respond::{respond, say};

/// A file that pages need.
pub(crate) struct Asset {
    /// The last part of its address.
    pub(crate) name: String,
    media_type: &'static str,
    pub(crate) content: String,
}

pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", view::page_style()));
pub(crate) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", view::page_script()));

impl Asset {
    fn new(ending: &str, media_type: &'static str, content: String) -> Asset {
        let mut hasher = DefaultHasher::new();
        hasher.write(content.as_bytes());
        Asset { name: format!("{:016x}.{ending}", hasher.finish()), media_type, content }
    }
}

/// A file by the last part of its address.
pub(crate) fn asset_by_name(name: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT].into_iter().find(|asset| asset.name == name)
}

/// `/asset/{name}`.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let Some(asset) = asset_by_name(&name) else {
        return say(StatusCode::NOT_FOUND, "there is no such file; load the page again");
    };
    let mut response =
        respond(StatusCode::OK, asset.media_type, asset.content.clone().into_bytes());
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, forever);
    response
}
