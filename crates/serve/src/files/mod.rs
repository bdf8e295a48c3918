//! The pages as files, for places without a server: about one time, as some see them.
//!
//! A page is written if another one leads to it, and each leads to files: so there is nothing that
//! leads nowhere.

mod path;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context, Result, bail};
use query::{PeriodEnd, Question, Sight};

use crate::about::{About, Span};
use crate::access::{self, Visitor};
use crate::address::{Root, path_of};
use crate::asset::asset_by_name;
use crate::page::{self, Page};
use crate::{App, Site};

pub(crate) use path::file_path;

/// The folder of the style sheet and the script.
const ASSETS: &str = "asset";

/// A file, by its path in the folder of all.
pub struct File {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Makes the files, one after the other.
pub struct Files {
    app: App,
    visitor: Visitor,
    about: About,
    /// How the end of the time was found, if it was not named.
    period_end: Option<PeriodEnd>,
    links: Links,
    /// What was made with a page, by its path. Pages come before what is named after them.
    beside: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// About the clusters and the time of a question.
    pub fn new(site: Site, sight: &Sight, question: &Question) -> Result<Files> {
        let period = &question.period;
        let span =
            Span::Between { from: period.start.to_string(), to: Some(period.end.to_string()) };
        let clusters = question.clusters.clone();
        let about = About { clusters, span: Some(span), ..About::default() };
        let links = Links::default();
        links.note(&[]);
        Ok(Files {
            app: App::new(site)?,
            visitor: Visitor::ahead(sight),
            about,
            period_end: question.period_end.clone(),
            links,
            beside: BTreeMap::new(),
        })
    }

    /// How many files are known of, of which more may become known with each.
    pub fn known(&self) -> usize {
        self.links.lock().known.len()
    }

    /// The next file; none if all were made.
    pub async fn next(&mut self) -> Result<Option<File>> {
        let Some(segments) = self.links.next() else { return Ok(None) };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let path = file_path(&segments);
        let bytes = match self.beside.remove(&path) {
            Some(bytes) => bytes,
            None => self.make(&segments).await.with_context(|| format!("cannot make {path}"))?,
        };
        Ok(Some(File { path, bytes }))
    }

    /// Makes a file, and what is written beside it.
    async fn make(&mut self, segments: &[&str]) -> Result<Vec<u8>> {
        if let [ASSETS, name] = segments {
            let asset = asset_by_name(name).context("there is no such style sheet or script")?;
            return Ok(asset.content.clone().into_bytes());
        }
        let page = page_at(segments)?;
        if !access::need(page.path).is_some_and(|need| self.visitor.may(need)) {
            bail!("they may not see it for whom this is written");
        }
        let path = format!("/{}", path_of(segments));
        let root = Root::of_files(&path, &self.links);
        let (about, end) = (&self.about, self.period_end.as_ref());
        let made = page::files(&self.app, &page, &self.visitor, &root, &path, about, end).await?;
        let mut made = made.into_iter();
        let (_, html) = made.next().context("a page is a file itself")?;
        let (last, folders) = match segments {
            [folders @ .., last] => (*last, folders),
            [] => ("overview", &[][..]),
        };
        for (ending, bytes) in made {
            let file = format!("{last}.{ending}");
            self.beside.insert(file_path(&[folders, &[&file]].concat()), bytes);
        }
        Ok(html)
    }
}

/// The page at an address.
fn page_at(segments: &[&str]) -> Result<Cow<'static, Page>> {
    let path = format!("/{}", segments.join("/"));
    let is_meant = |page: &&Page| match path::is_of_one(segments) {
        true => page.is_of_one() && page.is_at(segments),
        false => page.path == path,
    };
    if let Some(page) = page::PAGES.iter().find(is_meant) {
        return Ok(Cow::Borrowed(page));
    }
    let name = path.strip_prefix("/reports/").context("there is no such page")?;
    Ok(Cow::Owned(page::report_page(query::analysis(name)?)))
}

/// What pages lead to: the segments of each path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    known: BTreeSet<Vec<String>>,
    waiting: BTreeSet<Vec<String>>,
}

impl Links {
    pub(crate) fn note(&self, segments: &[&str]) {
        let segments: Vec<String> = segments.iter().map(|&segment| segment.to_owned()).collect();
        let mut noted = self.lock();
        if noted.known.insert(segments.clone()) {
            noted.waiting.insert(segments);
        }
    }

    fn next(&self) -> Option<Vec<String>> {
        self.lock().waiting.pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().expect("no holder of this lock panics")
    }
}
