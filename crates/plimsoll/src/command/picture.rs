//! `plimsoll heatmap` and `plimsoll chart`: pictures of what GPUs did, and of what reports say.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use lake::Lake;
use query::{Bucket, By, Coloring, GroupBy, NamedChart, Pattern, Question, Rows, Selection};
use report::Picture;
use view::{
    PICTURE_FORMATS, PictureFormat, PictureLook, THEMES, TerminalColors, Theme,
    picture_format_by_extension, picture_format_by_name,
};

use crate::cli::{Canvas, Chart, Gpus, Heatmap, Output};
use crate::command::output;
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn heatmap(config: &Config, arguments: &Heatmap) -> Result<Outcome> {
    let selection = selection(&arguments.gpus)?;
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let mut question = arguments.about.question_of_last_day(&lake, config, now).await?;
    question.anonymize = arguments.canvas.anonymize;
    if arguments.list {
        let output = Output {
            format: arguments.canvas.format.clone(),
            output: arguments.canvas.output.clone(),
        };
        output::format(&output)?;
        let report = query::selected(&lake, &question, &selection).await?;
        return output::write(&[report], &output);
    }
    let format = format(&arguments.canvas)?;
    let look = look(&arguments.canvas, format)?;
    let wish = query::Heatmap {
        bucket: arguments.bucket,
        most_columns: most_columns(format, &look),
        coloring: match arguments.color.as_str() {
            "user" => Coloring::User,
            "utilization" => Coloring::Utilization,
            _ => Coloring::State,
        },
        rows: match arguments.rows.as_str() {
            "gpu" => Some(Rows::Gpu),
            "machine" => Some(Rows::Machine),
            "device" => Some(Rows::Device),
            // A program can read any number of rows.
            _ if !format.is_drawn() => Some(Rows::Gpu),
            _ => None,
        },
        group_by: match arguments.group_by.as_str() {
            "device" => GroupBy::Device,
            _ => GroupBy::Machine,
        },
    };
    let picture = query::heatmap(&lake, &question, &selection, &wish).await?;
    write(picture, &arguments.canvas, format, &look)
}

pub(crate) async fn chart(config: &Config, arguments: &Chart) -> Result<Outcome> {
    let Some(name) = &arguments.name else {
        return list();
    };
    let chart = query::chart_by_name(name)?;
    let format = format(&arguments.canvas)?;
    let look = look(&arguments.canvas, format)?;
    let lake = Lake::open(&config.data_dir)?;
    let mut question = arguments.about.question(&lake, config, config.now()).await?;
    question.anonymize = arguments.canvas.anonymize;
    question.options = arguments.options.said();
    let picture = match chart {
        NamedChart::Gpus(chart) => {
            let most_columns = (format.name() == "text").then(|| most_columns(format, &look));
            chart_of_gpus(&lake, chart, question, arguments, most_columns).await?
        }
        NamedChart::Report(analysis) => {
            let class = arguments.gpus.class.clone();
            question.options.extend(class.clone().map(|class| ("class".to_owned(), class)));
            if arguments.gpus != (Gpus { class, ..Gpus::default() }) || arguments.bucket.is_some() {
                bail!(
                    "{name} draws the answer of a report: --gpu, --host, --host-pattern, --model \
                     and --bucket are for charts of what GPUs did"
                );
            }
            question.options = query::options_of_chart(analysis, &question.options);
            let report = query::run(&lake, analysis, &question).await?;
            query::draw(analysis, &question, &report)?
        }
    };
    write(picture, &arguments.canvas, format, &look)
}

/// A chart from the spans of GPUs, which can be told by what, and no other option of reports.
async fn chart_of_gpus(
    lake: &Lake,
    chart: &query::Chart,
    mut question: Question,
    arguments: &Chart,
    most_columns: Option<usize>,
) -> Result<Picture> {
    let by = match question.options.remove("by") {
        Some(by) => By::parse(&by)?,
        None => By::Class,
    };
    if let Some(option) = question.options.keys().next() {
        bail!("{} has no option {option:?}; it has by, and those that choose GPUs", chart.name);
    }
    let of_terminal = most_columns.map(|most| Bucket::for_period(&question.period, most));
    let bucket = arguments.bucket.or(of_terminal);
    query::chart(lake, &question, &selection(&arguments.gpus)?, chart, bucket, by).await
}

/// Says which charts there are.
fn list() -> Result<Outcome> {
    let mut text = String::new();
    for chart in NamedChart::all() {
        text += &format!("{:<22} {}\n", chart.name(), chart.question());
    }
    text += "\nplimsoll chart NAME [--days N | --hours N | --from TIME] [--to TIME] -o FILE; --help says more\n";
    io::stdout().write_all(text.as_bytes()).context("cannot write")?;
    Ok(Outcome::Done)
}

fn selection(gpus: &Gpus) -> Result<Selection> {
    let host_pattern = match &gpus.host_pattern {
        Some(expression) => Some(
            Pattern::new(&format!("/{expression}/"))
                .map_err(|wrong| anyhow::anyhow!("--host-pattern {expression:?} {wrong}"))?,
        ),
        None => None,
    };
    Ok(Selection {
        gpus: gpus.gpu.clone(),
        hosts: gpus.host.clone(),
        host_pattern,
        model: gpus.model.clone(),
        class: gpus.class.clone(),
    })
}

/// The format that is asked for, by name or by the file's ending.
fn format(canvas: &Canvas) -> Result<&'static dyn PictureFormat> {
    let names = PICTURE_FORMATS.map(|format| format.name());
    if let Some(name) = &canvas.format {
        return match picture_format_by_name(name) {
            Some(format) => Ok(format),
            None => match query::nearest(name, names) {
                Some(near) => bail!("there is no format {name:?}; did you mean {near:?}?"),
                None => bail!("there is no format {name:?}; there are {}", names.join(", ")),
            },
        };
    }
    let Some(file) = &canvas.output else {
        return Ok(picture_format_by_name("text").expect("text is one of the formats"));
    };
    picture_format_by_extension(file).with_context(|| {
        let names = names.join(", ");
        format!("the ending of {} names no format; give --format ({names})", file.display())
    })
}

fn look(canvas: &Canvas, format: &dyn PictureFormat) -> Result<PictureLook> {
    let is_terminal = canvas.output.is_none() && io::stdout().is_terminal();
    if is_terminal && format.name() == "png" {
        bail!("a terminal cannot show PNG: give a file, such as -o gpus.png");
    }
    let names = THEMES.map(|theme| theme.name);
    let theme = match Theme::by_name(&canvas.theme) {
        Some(theme) => theme,
        None => match query::nearest(&canvas.theme, names) {
            Some(near) => bail!("there is no theme {:?}; did you mean {near:?}?", canvas.theme),
            None => {
                bail!("there is no theme {:?}; there are {}", canvas.theme, names.join(", "))
            }
        },
    };
    let terminal = output::terminal();
    Ok(PictureLook {
        theme,
        width_inches: canvas.width,
        height_inches: canvas.height,
        dots_per_inch: canvas.dpi,
        terminal_columns: if is_terminal { terminal.width } else { None },
        terminal_colors: match is_terminal && terminal.color {
            true => terminal_colors(),
            false => TerminalColors::None,
        },
    })
}

/// What the terminal says of itself.
#[expect(clippy::disallowed_methods, reason = "how terminals tell which colours they have")]
fn terminal_colors() -> TerminalColors {
    let is = |name: &str, wanted: &[&str]| {
        let value = std::env::var_os(name).unwrap_or_default();
        let value = value.to_string_lossy().into_owned();
        wanted.iter().any(|wanted| value.contains(wanted))
    };
    if is("COLORTERM", &["truecolor", "24bit"]) || is("TERM", &["direct"]) {
        TerminalColors::True
    } else if is("TERM", &["256color", "xterm", "screen", "tmux", "kitty"]) {
        TerminalColors::Indexed256
    } else {
        TerminalColors::None
    }
}

/// How many columns are told apart: on a terminal those that fit beside the names, else the pixels
/// of a usual screen.
fn most_columns(format: &dyn PictureFormat, look: &PictureLook) -> usize {
    const OF_A_PICTURE: usize = 2100;
    const NAMES: usize = 40;
    if format.name() != "text" {
        return OF_A_PICTURE;
    }
    let room = look.terminal_columns.unwrap_or(120).saturating_sub(NAMES).max(20);
    if look.terminal_colors == TerminalColors::None { room } else { 2 * room }
}

fn write(
    mut picture: Picture,
    canvas: &Canvas,
    format: &dyn PictureFormat,
    look: &PictureLook,
) -> Result<Outcome> {
    if let Some(title) = &canvas.title {
        picture.title.clone_from(title);
    }
    let bytes = format.render(&picture, look)?;
    match &canvas.output {
        Some(file) => std::fs::write(file, bytes)
            .with_context(|| format!("cannot write {}", file.display()))?,
        None => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&bytes).and_then(|()| stdout.flush()).context("cannot write")?;
        }
    }
    for file in &picture.coverage.skipped {
        complain(&format!("warning: left out {}: {}", file.path, file.reason));
    }
    Ok(if picture.coverage.skipped.is_empty() { Outcome::Done } else { Outcome::Findings })
}
