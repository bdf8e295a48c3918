//! Where a lake is: a folder of this machine, or a place in an object store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreScheme};
use url::Url;

/// Where a lake is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, or what lies below a prefix of one.
    Store(StorePlace),
}

/// A place in an object store, and how it is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct StorePlace {
    url: Url,
    settings: StoreSettings,
}

/// Credentials, regions, endpoints: variables of the environment by their names, as the stores' own
/// tools read them. Secrets are among them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreSettings(Vec<(String, String)>);

impl StoreSettings {
    /// What names of variables begin with that stores are reached by.
    const FAMILIES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

    /// Those of some variables that stores are reached by.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> StoreSettings {
        let is_ours =
            |name: &str| StoreSettings::FAMILIES.iter().any(|family| name.starts_with(family));
        StoreSettings(variables.into_iter().filter(|(name, _)| is_ours(name)).collect())
    }
}

impl Place {
    /// Reads a place as people write it: a path, or a URL such as `s3://bucket/prefix`. A relative path
    /// begins at a folder.
    pub fn read(text: &Path, folder: &Path, settings: &StoreSettings) -> Result<Place> {
        match text.to_str().filter(|text| text.contains("://")) {
            Some(url) => Ok(Place::Store(StorePlace::read(url, settings)?)),
            None => Ok(Place::Folder(folder.join(text))),
        }
    }

    /// The folder, if it is one of this machine.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Place::Folder(folder) => Some(folder),
            Place::Store(_) => None,
        }
    }

    /// What below it is found by this path.
    pub(crate) fn shown(&self, path: &object_store::path::Path) -> String {
        match self {
            Place::Folder(folder) => folder.join(path.as_ref()).display().to_string(),
            Place::Store(place) => format!("{}/{path}", place.shown()),
        }
    }

    /// What its files are read and written through; paths begin below it.
    pub(crate) fn store(&self) -> Result<Arc<dyn ObjectStore>> {
        match self {
            Place::Folder(folder) => {
                let store = LocalFileSystem::new_with_prefix(folder)
                    .with_context(|| format!("cannot read {}", folder.display()))?;
                Ok(Arc::new(store))
            }
            Place::Store(place) => place.store(),
        }
    }
}

impl StorePlace {
    fn read(text: &str, settings: &StoreSettings) -> Result<StorePlace> {
        let url = Url::parse(text).with_context(|| format!("{text:?} is no URL"))?;
        match ObjectStoreScheme::parse(&url) {
            Ok((
                ObjectStoreScheme::AmazonS3
                | ObjectStoreScheme::GoogleCloudStorage
                | ObjectStoreScheme::MicrosoftAzure,
                _,
            )) => Ok(StorePlace { url, settings: settings.clone() }),
            _ => bail!(
                "{text:?} is no object store that is known: write s3://bucket/prefix, \
                 gs://bucket/prefix or az://container/prefix, or a folder as a plain path"
            ),
        }
    }

    fn store(&self) -> Result<Arc<dyn ObjectStore>> {
        /// A large day goes over in one request, however slow the line is.
        const LONGEST_REQUEST: (&str, &str) = ("timeout", "10 minutes");
        let settings = self.settings.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = [LONGEST_REQUEST].into_iter().chain(settings);
        let (store, prefix) = object_store::parse_url_opts(&self.url, settings)
            .with_context(|| format!("cannot reach {}", self.shown()))?;
        Ok(Arc::new(PrefixStore::new(store, prefix)))
    }

    /// The variables of the environment by which such a store is reached first of all.
    pub fn variables(&self) -> &'static str {
        match ObjectStoreScheme::parse(&self.url) {
            Ok((ObjectStoreScheme::GoogleCloudStorage, _)) => "GOOGLE_SERVICE_ACCOUNT",
            Ok((ObjectStoreScheme::MicrosoftAzure, _)) => {
                "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
            }
            _ => "AWS_REGION and AWS_ENDPOINT_URL",
        }
    }

    fn shown(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }
}

impl From<&Path> for Place {
    fn from(folder: &Path) -> Place {
        Place::Folder(folder.to_owned())
    }
}

impl From<&PathBuf> for Place {
    fn from(folder: &PathBuf) -> Place {
        Place::Folder(folder.clone())
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Place {
        place.clone()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(folder) => folder.display().fmt(formatter),
            Place::Store(place) => formatter.write_str(place.shown()),
        }
    }
}

// Without the settings, which hold secrets.
impl fmt::Debug for StorePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.shown())
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> StoreSettings {
        let variables = [("AWS_SECRET_ACCESS_KEY", "hush"), ("AWS_REGION", "here"), ("HOME", "/")];
        StoreSettings::of(variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let read = Place::read(Path::new(text), Path::new("/site"), &settings());
        let read = read.map(|place| place.to_string()).map_err(|error| error.to_string());
        match (&read, expected) {
            (Ok(place), Ok(expected)) => assert_eq!(place, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            _ => panic!("{read:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_place_is_a_path_or_the_url_of_a_store() {
        check("lake", Ok("/site/lake"));
        check("/lake", Ok("/lake"));
        check("s3://bucket/lake/", Ok("s3://bucket/lake"));
        check("s3://bucket", Ok("s3://bucket"));
        check("gs://bucket/lake", Ok("gs://bucket/lake"));
        check("az://container/lake", Ok("az://container/lake"));
        check("file:///lake", Err("a folder as a plain path"));
        check("s4://bucket", Err("s4://bucket\" is no object store that is known"));
        check("://", Err("is no URL"));
    }

    #[test]
    fn no_secret_is_shown() {
        let text = Path::new("s3://bucket/lake");
        let place = Place::read(text, Path::new("/"), &settings()).unwrap();
        assert_eq!(format!("{place:?}"), "Store(s3://bucket/lake)");
        assert_eq!(format!("{:?}", settings()), r#"["AWS_SECRET_ACCESS_KEY", "AWS_REGION"]"#);
    }

    #[test]
    fn a_file_is_shown_by_its_whole_name() {
        let path = object_store::path::Path::from("live/maple.json");
        let shown = |text: &str| {
            let place = Place::read(Path::new(text), Path::new("/site"), &settings()).unwrap();
            place.shown(&path)
        };
        assert_eq!(shown("lake"), "/site/lake/live/maple.json");
        assert_eq!(shown("s3://bucket/lake"), "s3://bucket/lake/live/maple.json");
    }
}
