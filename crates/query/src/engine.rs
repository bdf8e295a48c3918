//! Where statements are worked out, if not in this process.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

/// Other machines that read the lake. A statement is planned here: which files it needs, and what of
/// it is not in files; they work out the plan.
#[async_trait]
pub trait Engine: fmt::Debug + Send + Sync {
    /// Fails if nobody is there to ask.
    async fn check(&self) -> anyhow::Result<()>;

    /// The settings to plan with.
    fn settings(&self, settings: SessionConfig) -> SessionConfig;

    /// What a plan gives; our functions in it know of the site what `known` says.
    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        settings: &SessionConfig,
        known: Vec<u8>,
    ) -> Result<Vec<RecordBatch>>;
}
