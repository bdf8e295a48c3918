//! A document with the awkward report in it, as a page, a mail, text and Markdown.

use report::{
    Amount, Bars, Document, Drawing, Group, Kind, Layout, NewestData, Part, Picture, Section, Unit,
};

use super::*;
use crate::tests::awkward;

fn document() -> Document {
    let report = awkward();
    let amount = Amount { value: Some(12.0), band: None };
    let picture = Picture {
        name: "wasters".into(),
        title: "Who <wastes> & \"more\"".into(),
        subtitle: "by user".into(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing: Drawing::Bars(Bars {
            label_heading: "User".into(),
            heading: "CPU hours".into(),
            unit: Unit::Hours,
            is_sequence: false,
            layout: Layout::Stacked,
            parts: vec![Part { name: "wasted".into(), kind: Kind::Ranked(0) }],
            groups: vec![Group { label: "<script>".into(), amounts: vec![amount] }],
        }),
        notes: Vec::new(),
    };
    Document {
        title: "The <site>, weekly".into(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        shares: vec!["35.0%".into(), "-".into()],
        sections: vec![Section::Picture(picture), Section::Report(report)],
    }
}

fn rendered(format: &str) -> String {
    let format = DOCUMENT_FORMATS.iter().find(|known| known.name == format).unwrap();
    format.render(&document(), &Look::default())
}

#[test]
fn a_page_escapes_names_and_draws_in_place() {
    let page = rendered("html");
    assert!(page.contains("<h1 style=") && page.contains("The &lt;site&gt;, weekly"));
    assert!(page.contains("<svg") && !page.contains("<img"));
    assert!(!page.contains("<script") && !page.contains("<b>most"), "{page}");
    assert!(page.contains(
        "role=\"img\" aria-label=\"Who &lt;wastes&gt; &amp; &quot;more&quot;: by user\""
    ));
}

#[test]
fn a_mail_has_its_styles_beside_and_its_pictures_with_it() {
    let DocumentMail { html, pictures } = document_mail(&document());
    for absent in ["<svg", "<style", "class=", "<script", "http"] {
        assert!(!html.contains(absent), "{absent} in {html}");
    }
    assert_eq!(pictures.len(), 1);
    assert_eq!(pictures[0].id, "picture-1");
    assert!(html.contains("<img src=\"cid:picture-1\" alt=\"Who &lt;wastes&gt;"));
    assert!(pictures[0].bytes.starts_with(b"\x89PNG"));
    insta::assert_snapshot!("mail", html);
}

#[test]
fn a_document_says_that_the_newest_data_is_old() {
    let mut document = document();
    let now = "2027-11-15T06:00:00Z".parse().unwrap();
    document.coverage.ends_at_newest = NewestData::if_old(document.period.end, now);
    for format in &DOCUMENT_FORMATS {
        let written = format.render(&document, &Look::default());
        assert!(written.contains("365 days before this report"), "{}: {written}", format.name);
    }
    assert!(document_mail(&document).html.contains("365 days before this report"));
}

#[test]
fn a_period_that_is_incomplete_says_so_first() {
    for format in ["text", "markdown", "html"] {
        let written = rendered(format);
        let (above, _) = written.split_once("This period is incomplete").unwrap();
        assert!(!above.contains("User"), "{format}");
        assert!(written.contains("alder: 14 of 15 days are collected; birch: 0 of 1 days"));
    }
    assert_eq!(
        document().subject(),
        "The <site>, weekly 2026-11-01 to 2026-11-14 (35.0% | -) [incomplete]"
    );
}

#[test]
fn text_and_markdown_leave_pictures_out() {
    insta::assert_snapshot!("text", rendered("text"));
    insta::assert_snapshot!("markdown", rendered("markdown"));
}
