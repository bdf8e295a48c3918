use super::*;

/// The options that the analysis of a section has.
fn options(section: &Section) -> Option<Vec<&'static str>> {
    match section.show {
        Show::Report { name, .. } | Show::Drawn { name, .. } => {
            let analysis = query::analysis(name).unwrap();
            Some(analysis.options.iter().map(|option| option.name).collect())
        }
        Show::Heatmap | Show::Chart(_) => Some(vec!["node", "class"]),
        _ => None,
    }
}

#[test]
fn every_report_of_a_page_is_about_what_the_page_is_about() {
    for page in PAGES {
        for section in page.sections.iter() {
            let names = page.path.split('/').filter_map(|part| {
                part.strip_prefix('{')?.strip_suffix('}').filter(|name| *name != "cluster")
            });
            for name in names {
                if let Some(options) = options(section) {
                    assert!(
                        options.contains(&name),
                        "{}: {} is of all",
                        page.path,
                        section.heading
                    );
                }
            }
            if let Show::Report { name, said, .. } = section.show {
                let known = query::analysis(name).unwrap().options;
                for (option, _) in said {
                    assert!(known.iter().any(|known| known.name == *option), "{}", page.path);
                }
            }
        }
    }
}

#[test]
fn every_choice_of_a_page_changes_something_on_it() {
    for page in PAGES {
        for filter in page.filters.iter() {
            assert!(form::option(page, filter).is_some(), "{}: {filter}", page.path);
        }
    }
}
