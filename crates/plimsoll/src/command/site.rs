//! `plimsoll site`: the web pages as files.

mod folder;

use std::sync::Arc;

use anyhow::Result;
use lake::Lake;
use query::Sight;
use serve::{Files, Store};

use crate::cli::Pages;
use crate::command::collect::progress;
use crate::command::serve::site;
use crate::config::Config;
use crate::{Outcome, complain};
use folder::Folder;

pub(crate) async fn run(config: &Config, arguments: &Pages) -> Result<Outcome> {
    let now = config.now();
    let lake = Lake::open(&config.data_dir)?;
    let question = arguments.about.question(&lake, config, now).await?;
    let sight = match arguments.scope.as_str() {
        "staff" => Sight::Staff,
        // The pseudonyms are those of the pages that `plimsoll serve` shows.
        _ => Sight::Public { secret: Store::create(&config.access_folder()?)?.secret()? },
    };
    let site = site(config, lake, Arc::new(move || now));
    let mut files = Files::new(site, &sight, &question)?;
    let mut folder = Folder::open(&arguments.folder)?;
    let progress = progress(files.known() as u64, "pages");
    while let Some(file) = files.next().await? {
        folder.add(&file.path, &file.bytes)?;
        progress.set_length(files.known() as u64);
        progress.set_message(file.path);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let changed = folder.put_in_place()?;
    complain(&format!(
        "wrote {} files, and removed {} of an earlier run; begin at {}",
        changed.written,
        changed.removed,
        arguments.folder.join("index.html").display()
    ));
    Ok(Outcome::Done)
}
