//! Plans as they travel: Ballista's parts in its own words, our functions in ours.

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

/// Writes and reads plans.
#[derive(Debug, Default)]
pub(crate) struct Codec {
    ballista: BallistaPhysicalExtensionCodec,
    /// What our functions know of the site, where the plan was made; elsewhere they come with it.
    known: Option<Vec<u8>>,
}

impl Codec {
    /// Of plans that are made here.
    pub(crate) fn sending(known: Vec<u8>) -> Codec {
        Codec { known: Some(known), ..Codec::default() }
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        written: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.ballista.try_decode(written, inputs, context, converter)
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        written: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.ballista.try_encode(plan, written, converter)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, written: &mut Vec<u8>) -> Result<()> {
        if let Some(received) = query::received(function) {
            written.extend_from_slice(received);
        } else if query::is_ours(function.name()) {
            match &self.known {
                Some(known) => written.extend_from_slice(known),
                None => return internal_err!("{} was not received", function.name()),
            }
        }
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, written: &[u8]) -> Result<Arc<ScalarUDF>> {
        let function = query::receive(name, written);
        Ok(Arc::new(function.map_err(|error| DataFusionError::External(error.into()))?))
    }

    fn try_decode_udaf(&self, name: &str, _: &[u8]) -> Result<Arc<AggregateUDF>> {
        match query::receive_aggregate(name) {
            Some(aggregate) => Ok(Arc::new(aggregate)),
            None => internal_err!("there is no function {name:?}"),
        }
    }
}
