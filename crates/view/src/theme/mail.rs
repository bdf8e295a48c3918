//! How a mail looks: each style is written beside what it is for, since programs that show mail
//! leave out style sheets. One look, by day: most of them change colours by night themselves.
//!
//! Cells have attributes instead, which are shorter: some programs cut off a mail after 100 KB.

pub(crate) const BODY: &str = "margin:0;padding:0;background:#ffffff;";

pub(crate) const SHEET: &str = "border-collapse:collapse;";

pub(crate) const INSIDE: &str = "padding:16px;font-family:Helvetica,Arial,sans-serif;\
    font-size:14px;line-height:1.45;color:#14212b;";

pub(crate) const TITLE: &str = "margin:0;font-size:24px;line-height:1.25;color:#14212b;";

pub(crate) const PERIOD: &str = "margin:4px 0 16px;color:#51606b;";

pub(crate) const WARNING: &str = "margin:0 0 16px;padding:10px 14px;background:#fff4e0;\
    border-left:4px solid #8a4b00;color:#8a4b00;";

pub(crate) const HEADING: &str = "margin:28px 0 8px;font-size:17px;line-height:1.3;color:#14212b;";

pub(crate) const TABLE: &str = "border-collapse:collapse;font-size:13px;";

/// The colour behind every second row.
pub(crate) const STRIPE: &str = "#f2f5f5";

pub(crate) const HEAD_CELL: &str = "border-bottom:2px solid #cfd6da;";

pub(crate) const NOTE: &str =
    "margin:6px 0 0;max-width:880px;font-size:12px;line-height:1.4;color:#51606b;";

pub(crate) const PICTURE: &str = "display:block;width:100%;max-width:920px;height:auto;border:0;";

pub(crate) const FIGURE: &str = "margin:28px 0 8px;";

/// For a page by itself: on paper, and on a screen that is narrower than a table, which then is moved
/// about and not the page.
pub(crate) const PAGE: &str = "@page { size: A4 landscape; margin: 12mm; } \
    svg { max-width: 920px; width: 100%; height: auto; } \
    @media screen { h2 + table { display: block; max-width: calc(100vw - 32px); overflow-x: auto; } } \
    @media print { h2 { break-after: avoid; } tr, svg { break-inside: avoid; } }";
