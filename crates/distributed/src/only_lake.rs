//! What a plan can read.

use std::sync::Arc;

use datafusion::common::{Result, exec_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use query::STORE_URL;
use url::Url;

/// The stores that a plan can name: the lake, whatever the sender calls his. A plan that names a file of
/// this machine is refused.
#[derive(Debug)]
pub(crate) struct OnlyLake(pub(crate) Arc<dyn ObjectStore>);

impl ObjectStoreRegistry for OnlyLake {
    fn register_store(&self, _: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        Some(store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if (url.scheme(), url.host_str()) == (STORE_URL.scheme(), STORE_URL.host_str()) {
            return Ok(self.0.clone());
        }
        exec_err!("{url} is not in the lake")
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn a_plan_reads_the_lake_and_no_other_file() {
        let lake = OnlyLake(Arc::new(InMemory::new()));
        assert!(lake.get_store(&STORE_URL).is_ok());
        for other in ["file:///etc/passwd", "lake://other/", "s3://bucket/key", "http://localhost/"]
        {
            let store = lake.get_store(&Url::parse(other).unwrap());
            assert!(store.is_err(), "{other}");
        }
    }
}
