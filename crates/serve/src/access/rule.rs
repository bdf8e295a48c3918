//! What each route needs. One that is not in the list nobody may see.

use crate::page::PAGES;

/// What one must be to see what a route shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nobody in particular: it shows nothing of the site.
    Nothing,
    /// Anybody who sees anything, if only what is public: what is shown is cut to that.
    Sight,
    /// Somebody with a name.
    Name,
    /// Staff, or a program that reads metrics.
    Metrics,
}

/// The style sheet and the script.
pub(super) const ASSET: &str = "/asset/{name}";
/// Where a provider of single sign-on sends browsers back to.
pub(super) const OPENID_RETURN: &str = "/openid-return";

/// Every route, and what it needs. What endings of a page show is what the page shows.
static RULES: [(&str, Need); 30] = [
    ("/", Need::Sight),
    ("/jobs", Need::Sight),
    ("/jobs/{cluster}/{job}", Need::Sight),
    ("/users", Need::Sight),
    ("/users/{user}", Need::Sight),
    ("/groups", Need::Sight),
    ("/groups/{group}", Need::Sight),
    ("/accounts", Need::Sight),
    ("/accounts/{account}", Need::Sight),
    ("/allocations", Need::Name),
    ("/nodes", Need::Sight),
    ("/nodes/{cluster}/{node}", Need::Sight),
    ("/gpus", Need::Sight),
    ("/gpus/{class}", Need::Sight),
    ("/backfill", Need::Sight),
    ("/queue", Need::Sight),
    ("/reports", Need::Sight),
    ("/reports/{report}", Need::Sight),
    ("/health", Need::Name),
    ("/definitions", Need::Sight),
    ("/api/v1", Need::Sight),
    ("/api/v1/openapi.json", Need::Sight),
    ("/api/v1/clusters", Need::Sight),
    ("/api/v1/constants", Need::Sight),
    ("/api/v1/reports", Need::Sight),
    ("/api/v1/reports/{name}", Need::Sight),
    ("/api/v1/now/{name}", Need::Sight),
    ("/api/{*rest}", Need::Sight),
    // By user and account, in the scheduler's words.
    ("/metrics", Need::Metrics),
    ("/metrics/{names}", Need::Metrics),
];

/// What shows nothing of the site.
static OPEN: [&str; 5] = [ASSET, "/login", "/logout", "/openid", OPENID_RETURN];

/// What a route needs; nothing is known of one that is not in the list.
pub(crate) fn of(path: &str) -> Option<Need> {
    if OPEN.contains(&path) {
        return Some(Need::Nothing);
    }
    let page = PAGES
        .iter()
        .find(|page| page.routes().iter().any(|route| route == path))
        .map(|page| page.path);
    let path = page.unwrap_or(path);
    RULES.iter().find(|(ruled, _)| *ruled == path).map(|(_, need)| *need)
}

/// Every route that has a rule, for those who check that each keeps it.
pub fn routes() -> impl Iterator<Item = (&'static str, Need)> {
    RULES.into_iter().chain(OPEN.map(|path| (path, Need::Nothing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The routes of pages are those of the list; the others stand in these files.
    #[test]
    fn every_route_has_a_rule() {
        let sources = [
            include_str!("../lib.rs"),
            include_str!("../api/mod.rs"),
            include_str!("../metrics.rs"),
            include_str!("login.rs"),
            include_str!("openid/flow.rs"),
        ];
        let routes = sources.iter().flat_map(|source| source.split(".route(\"").skip(1));
        let mut count = 0;
        for route in routes {
            let path = route.split('"').next().unwrap();
            assert!(of(path).is_some(), "{path} has no rule");
            count += 1;
        }
        assert!(count > 10, "routes are written otherwise now");
    }

    #[test]
    fn every_page_has_a_rule() {
        for page in PAGES {
            assert!(of(page.path).is_some(), "{} has no rule", page.path);
        }
        assert_eq!(of("/users.json"), Some(Need::Sight));
        assert_eq!(of("/health.csv"), Some(Need::Name));
        assert_eq!(of("/overview.json"), Some(Need::Sight));
        assert_eq!(of("/elsewhere"), None);
    }
}
