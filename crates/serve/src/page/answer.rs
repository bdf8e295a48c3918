//! Answers a request for a page.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use query::now::Shown;
use query::{Analysis, AnalysisOption, Ask, PeriodEnd, Question, Values};
use report::{NewestData, Picture, Report};
use view::{Look, PictureFormat, PictureLook};

use super::section::formats_of;
use super::{Page, Request, Section, Show, chosen, form, frame, gpus, of_job};
use crate::App;
use crate::about::About;
use crate::access::Visitor;
use crate::address::Root;
use crate::kept::{Answer, Key};
use crate::respond::respond;
use crate::trouble::{Trouble, in_time};
use crate::unknown_name::refuse_clusters;
use crate::wanted::{HTML, Wanted, accepted, without_ending};

/// In the place of what others do not see.
const FOR_STAFF: &str = "Only staff may see this.";

/// One part of an answered page.
pub(super) struct Part {
    pub(super) section: Section,
    pub(super) content: Content,
    /// Its report before it was cut to what a page shows of it, if it was, where it is written too.
    whole: Option<Report>,
}

pub(super) enum Content {
    Report(Report),
    Picture(Picture),
    /// What stands in its place.
    Words(String),
    /// What needs no question.
    Fixed,
    Nothing,
}

/// What a page is asked, all read and checked.
pub(super) struct Asked<'a> {
    pub(super) app: &'a App,
    pub(super) page: &'a Page,
    pub(super) visitor: &'a Visitor,
    pub(super) root: Root,
    pub(super) about: About,
    /// What the page is about, by the names in its path.
    pub(super) names: BTreeMap<String, String>,
    pub(super) question: Question,
    /// A browser is given only so many rows.
    wanted: Wanted,
}

/// Answers a request for a page, in the format that is wanted.
pub(super) async fn answer(app: &App, page: &Page, request: &Request<'_>) -> Response {
    let (path, ending) = without_ending(request.uri.path());
    let wanted = ending.unwrap_or_else(|| accepted(request.headers));
    match in_time(shown(app, page, request, path, wanted)).await {
        Ok(mut response) => {
            response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
            response
        }
        Err(trouble) => refuse(app, request, &trouble).await,
    }
}

async fn shown(
    app: &App,
    page: &Page,
    request: &Request<'_>,
    path: &str,
    wanted: Wanted,
) -> Result<Response, Trouble> {
    let Request { pairs, visitor, .. } = *request;
    let about = About::read(pairs).map_err(Trouble::bad_request)?;
    // Forms send what is blank; an address to keep has only what was chosen.
    if pairs.iter().any(|(_, value)| value.is_empty()) {
        let query = about.query();
        let address = if query.is_empty() { "?".to_owned() } else { query };
        let location = HeaderValue::from_str(&address).map_err(anyhow::Error::from)?;
        return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response());
    }
    form::check(page, &about)?;
    let media_type = wanted.media_type();
    let address = format!("{}{}", request.uri.path(), about.query());
    let key = Key { sight: visitor.sight.clone(), address, media_type };
    let root = Root::seen_from(path);
    let moment = app.moment().await?;
    let made = async {
        let asked = asked(app, page, visitor, &root, path, &about, wanted).await?;
        let parts = asked.parts().await?;
        chosen::refuse_unknown(&asked, &parts).await?;
        Ok(match wanted {
            Wanted::Page => Answer::Page(frame::body(&asked, &parts).await?),
            Wanted::Format(format) => {
                Answer::File(format.render(&reports(parts), &Look::default()).into())
            }
            Wanted::Picture(format) => Answer::File(drawn(format, &parts)?.into()),
        })
    };
    let began = moment.time;
    let given = app.kept.answer(&key, moment, visitor.is_ahead(), made).await?;
    app.timings.note(page.path, began, (app.site.now)(), given.is_new);
    Ok(match &*given.answer {
        Answer::Page(body) => {
            html(StatusCode::OK, frame::around(app, page, &root, visitor, &about, body).await)
        }
        Answer::File(bytes) => respond(StatusCode::OK, media_type, bytes.clone()),
    })
}

/// A page as files: itself, and in the formats that it names beside it, by their endings.
pub(crate) async fn files(
    app: &App,
    page: &Page,
    visitor: &Visitor,
    root: &Root,
    path: &str,
    about: &About,
    period_end: Option<&PeriodEnd>,
) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let answered = async {
        let mut asked = asked(app, page, visitor, root, path, about, Wanted::Page).await?;
        match period_end {
            // Failures later than the newest data are shown.
            Some(PeriodEnd { newest: Some(_), .. }) if page.is_about_collecting() => {
                asked.question.period.end = asked.question.now;
            }
            end => asked.question.period_end = end.cloned(),
        }
        let parts = asked.parts().await?;
        Ok::<_, Trouble>((frame::body(&asked, &parts).await?, parts))
    };
    let (body, parts) = match answered.await {
        Ok(answered) => answered,
        Err(trouble) => bail!(trouble.words),
    };
    let html = frame::around(app, page, root, visitor, about, &body).await;
    let mut files = vec![("html", html.into_bytes())];
    if !body.formats.is_empty() {
        let reports = reports(parts);
        for (_, ending) in formats_of(root) {
            let format = view::by_extension(Path::new(&format!("_.{ending}")));
            let format = format.context("pages name formats that there are")?;
            files.push((*ending, format.render(&reports, &Look::default())));
        }
    }
    Ok(files)
}

/// Reads and checks what a page is asked.
async fn asked<'a>(
    app: &'a App,
    page: &'a Page,
    visitor: &'a Visitor,
    root: &Root,
    path: &str,
    about: &About,
    wanted: Wanted,
) -> Result<Asked<'a>, Trouble> {
    let mut names = names(page.path, path);
    let mut about_here = about.clone();
    if let Some(cluster) = names.remove("cluster") {
        about_here.clusters = vec![cluster];
    }
    refuse_clusters(app, &about_here.clusters).await?;
    let (site, sight) = (&app.site, &visitor.sight);
    let question = match page.is_about_collecting() {
        true => {
            about_here.question_until_now(site, &page.span, sight).map_err(Trouble::bad_request)?
        }
        false => about_here.question(site, &page.span, sight).await?,
    };
    let (root, about) = (root.clone(), about.clone());
    Ok(Asked { app, page, visitor, root, about, names, question, wanted })
}

/// The reports of a page, whole.
fn reports(parts: Vec<Part>) -> Vec<Report> {
    let report = |part: Part| match (part.whole, part.content) {
        (Some(report), _) | (None, Content::Report(report)) => Some(report),
        _ => None,
    };
    parts.into_iter().filter_map(report).collect()
}

/// The first picture, as large as on the page.
fn drawn(format: &'static dyn PictureFormat, parts: &[Part]) -> Result<Vec<u8>, Trouble> {
    let picture = parts.iter().find_map(|part| match &part.content {
        Content::Picture(picture) => Some(picture),
        _ => None,
    });
    let nothing = || Trouble::new(StatusCode::NOT_FOUND, "There is no picture on this page.");
    let drawn = format.render(picture.ok_or_else(nothing)?, &PictureLook::default());
    Ok(drawn.map_err(anyhow::Error::from)?)
}

/// Says why there is no answer, as a page or in words.
pub(super) async fn refuse(app: &App, request: &Request<'_>, trouble: &Trouble) -> Response {
    let Request { uri, headers, visitor, .. } = *request;
    refuse_to(app, Some(visitor), uri, headers, trouble).await
}

/// Says somebody why there is no answer; one of whom nothing is known sees nothing beside.
pub(crate) async fn refuse_to(
    app: &App,
    visitor: Option<&Visitor>,
    uri: &Uri,
    headers: &HeaderMap,
    trouble: &Trouble,
) -> Response {
    let (path, ending) = without_ending(uri.path());
    match (ending, accepted(headers)) {
        (None, Wanted::Page) => {
            let page = frame::trouble(app, &Root::seen_from(path), visitor, trouble).await;
            html(trouble.status, page)
        }
        _ => crate::respond::say(trouble.status, &trouble.words),
    }
}

pub(super) fn html(status: StatusCode, page: String) -> Response {
    respond(status, HTML, page)
}

/// What the parts of a path are that a pattern such as `/users/{user}` has names for.
fn names(pattern: &str, path: &str) -> BTreeMap<String, String> {
    let parts = pattern.split('/').zip(path.split('/'));
    parts
        .filter_map(|(name, value)| {
            let name = name.strip_prefix('{')?.strip_suffix('}')?;
            Some((name.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned()))
        })
        .collect()
}

impl Asked<'_> {
    /// The newest data, if the page's time ends there because it is old.
    pub(super) fn newest_data(&self) -> Option<NewestData> {
        self.question.period_end.as_ref()?.newest
    }

    fn is_page(&self) -> bool {
        matches!(self.wanted, Wanted::Page)
    }

    /// In the place of what others do not see: on a page that is a file there is nobody to log in.
    fn for_staff(&self) -> Content {
        match self.root.is_of_files() {
            true => Content::Nothing,
            false => Content::Words(FOR_STAFF.to_owned()),
        }
    }

    /// How many rows are asked for, of which a page shows so many. Files are made of all of them.
    fn most_asked(&self, top: usize) -> Option<usize> {
        Some(top).filter(|_| self.is_page() && !self.root.is_of_files())
    }

    /// A report as a page shows it, and as it was. Of nodes that are files all are listed, for nobody
    /// can ask for another.
    fn fitted(&self, mut report: Report, section: &Section) -> (Content, Option<Report>) {
        let top = match section.show {
            Show::Report { top, .. } | Show::Look(_, top) => top,
            _ => usize::MAX,
        };
        let lists_nodes = self.page.path == "/nodes"
            && matches!(section.show, Show::Look(..) | Show::Report { name: "usage-by-node", .. });
        if !self.root.is_of_files() || lists_nodes || report.table.rows.len() <= top {
            return (Content::Report(report), None);
        }
        let whole = report.clone();
        report.keep_first(top);
        (Content::Report(report), Some(whole))
    }

    /// What the page shows. All reports are of one state of the lake.
    async fn parts(&self) -> Result<Vec<Part>, Trouble> {
        let all = &self.page.sections;
        let is_wanted = |(_, section): &(usize, &Section)| match self.wanted {
            Wanted::Page => true,
            Wanted::Format(_) => section.show.is_table(),
            Wanted::Picture(_) => section.show.is_picture(),
        };
        let sections = || all.iter().enumerate().filter(is_wanted);
        let asks: Vec<Ask> = sections().filter_map(|(place, _)| self.ask_at(place)).collect();
        let site = &self.app.site;
        let mut reports = if asks.is_empty() {
            Vec::new()
        } else {
            query::run_each(&site.lake, &asks, &self.question).await?
        }
        .into_iter();
        let shows_gpus = |(_, section): (usize, &Section)| {
            matches!(section.show, Show::Heatmap | Show::Chart(_))
        };
        let gpus = match sections().any(shows_gpus) {
            true => Some(gpus::read(self).await?),
            false => None,
        };
        let mut parts = Vec::new();
        for (place, section) in sections() {
            let content = match section.show {
                Show::Report { .. } if self.missing_subject(section).is_some() => {
                    let name = self.missing_subject(section).unwrap_or_default();
                    Content::Words(format!("This report is about one {name}. Enter it above."))
                }
                Show::Report { .. } | Show::Drawn { .. } if self.ask(section).is_none() => {
                    self.for_staff()
                }
                Show::Holdings if !self.visitor.is_staff() => self.for_staff(),
                // They are those of a server.
                Show::Timings if self.root.is_of_files() => Content::Nothing,
                Show::Report { name, .. } => {
                    let mut report = reports.next().expect("each ask has a report");
                    report.notes.extend(self.note_of_filters(query::analysis(name)?));
                    Content::Report(report)
                }
                Show::Drawn { draw, .. } => {
                    let report = reports.next().expect("each ask has a report");
                    match draw(&report, &self.question_of(section), section.heading) {
                        Some(picture) => Content::Picture(picture),
                        None => Content::Words("There is nothing to draw.".to_owned()),
                    }
                }
                Show::Picture => match self.ask_at(place) {
                    Some(Ask { analysis, options, .. }) => {
                        let report = reports.next().expect("each ask has a report");
                        let question = Question { options, ..self.question.clone() };
                        query::draw(analysis, &question, &report)
                            .map_or(Content::Nothing, Content::Picture)
                    }
                    None => Content::Nothing,
                },
                Show::Steps => of_job::steps(self, parts.first()).await?,
                Show::OfJob(name) => of_job::report(self, name, parts.first()).await?,
                Show::Look(look, top) => {
                    let filters = self.said();
                    let shown = Shown {
                        clusters: &self.question.clusters,
                        filters: &filters,
                        top: self.most_asked(top),
                        sight: &self.visitor.sight,
                    };
                    let seen = self.app.seen().await?;
                    Content::Report(look.report(&seen, &shown, &site.zone, self.question.now))
                }
                Show::Heatmap | Show::Chart(_) => {
                    let gpus = gpus.as_ref().expect("they are read for a page that shows them");
                    match (gpus, section.show) {
                        (Err(words), _) => Content::Words(words.clone()),
                        (Ok(gpus), Show::Chart(name)) => Content::Picture(gpus::chart(gpus, name)?),
                        (Ok(gpus), _) => Content::Picture(gpus::heatmap(self, gpus)?),
                    }
                }
                Show::Holdings => Content::Report(
                    query::holdings(&site.lake, &site.zone, self.question.now).await?,
                ),
                Show::Timings => {
                    Content::Report(self.app.timings.report(&site.zone, self.question.now))
                }
                Show::Reports | Show::Definitions | Show::Definition(_) => Content::Fixed,
            };
            let (content, whole) = match content {
                Content::Report(report) => self.fitted(report, section),
                content => (content, None),
            };
            parts.push(Part { section: *section, content, whole });
        }
        Ok(parts)
    }

    /// The question that a section answers, with the options that it is told.
    fn question_of(&self, section: &Section) -> Question {
        let options = self.ask(section).map(|ask| ask.options).unwrap_or_default();
        Question { options, ..self.question.clone() }
    }

    /// What is said by the address and the path, by the names of options.
    pub(super) fn said(&self) -> BTreeMap<String, String> {
        let mut said = self.about.options.clone();
        said.extend(self.names.clone());
        said
    }

    /// What the section at a place asks the lake. A chart asks for the whole answer of the report above it,
    /// however many rows of that the page shows.
    fn ask_at(&self, place: usize) -> Option<Ask<'static>> {
        let sections = &self.page.sections;
        if !matches!(sections[place].show, Show::Picture) {
            return self.ask(&sections[place]);
        }
        let Ask { analysis, options, .. } = self.ask(sections.get(place.checked_sub(1)?)?)?;
        analysis.drawn.as_ref()?;
        Some(Ask { analysis, options: query::options_of_chart(analysis, &options), top: None })
    }

    /// The option without which the report of a section cannot be answered, where a form can ask for it.
    fn missing_subject(&self, section: &Section) -> Option<&'static str> {
        let Show::Report { name, .. } = section.show else { return None };
        let said = self.said();
        let is_missing = |option: &&AnalysisOption| {
            matches!(option.values, Values::Subject) && !said.contains_key(option.name)
        };
        let option = query::analysis(name).ok()?.options.iter().find(is_missing)?;
        Some(option.name).filter(|_| self.is_page())
    }

    /// Which filters of the page a report does not have, so that its numbers are of more.
    fn note_of_filters(&self, analysis: &Analysis) -> Option<String> {
        let is_ignored = |name: &&String| {
            let option = form::option(self.page, name);
            option.is_some_and(AnalysisOption::is_filter)
                && analysis.options.iter().all(|option| option.name != **name)
        };
        let ignored: Vec<&str> =
            self.about.options.keys().filter(is_ignored).map(String::as_str).collect();
        (!ignored.is_empty()).then(|| format!("Not filtered by {}.", ignored.join(", ")))
    }

    /// What a section asks the lake, if it asks anything and may.
    pub(super) fn ask(&self, section: &Section) -> Option<Ask<'static>> {
        let (name, constants, top) = match section.show {
            Show::Report { name, said, top, .. } => (name, said, Some(top)),
            Show::Drawn { name, .. } => (name, &[][..], None),
            _ => return None,
        };
        let analysis = query::analysis(name).expect("a test asks for the reports of all pages");
        self.visitor.sight.covers(analysis).ok()?;
        if self.missing_subject(section).is_some() {
            return None;
        }
        let mut options = self.said();
        for (name, value) in constants {
            options.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        options.retain(|name, _| analysis.options.iter().any(|option| option.name == name));
        Some(Ask { analysis, options, top: top.and_then(|top| self.most_asked(top)) })
    }
}
