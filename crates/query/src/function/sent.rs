//! Our functions on other machines. A function is sent as what it knows of the site; where it
//! arrives it remembers that, for who plans a question sends its parts on.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, bail};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result as EngineResult;
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use jiff::tz::TimeZone;

use super::{Known, aggregates};
use crate::Judgement;
use crate::policy::Policies;

/// A function that came from elsewhere.
#[derive(Debug)]
struct Sent {
    function: ScalarUDF,
    written: Arc<[u8]>,
}

static OURS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let policies = Arc::new(Policies::own(&Judgement::default()));
    let known = Known { zone: TimeZone::UTC, policies, scopes: Vec::new() };
    known.functions().iter().map(|function| function.name().to_owned()).collect()
});

/// Whether a function of one row is one of ours.
pub fn is_ours(name: &str) -> bool {
    OURS.contains(name)
}

/// One of our functions of one row, by what was sent of the site.
pub fn receive(name: &str, written: &[u8]) -> Result<ScalarUDF> {
    let missing = || format!("there is no function {name:?}");
    if !is_ours(name) {
        bail!(missing());
    }
    let functions = Known::read(written)?.functions();
    let function = functions.into_iter().find(|function| function.name() == name);
    let function = function.with_context(missing)?;
    Ok(ScalarUDF::from(Sent { function, written: written.into() }))
}

/// What a function that was received is sent on as.
pub fn received(function: &ScalarUDF) -> Option<&[u8]> {
    let sent: &dyn std::any::Any = function.inner().as_ref();
    sent.downcast_ref::<Sent>().map(|sent| sent.written.as_ref())
}

/// One of our functions of many rows; they know nothing of the site.
pub fn receive_aggregate(name: &str) -> Option<AggregateUDF> {
    aggregates().into_iter().find(|aggregate| aggregate.name() == name)
}

impl ScalarUDFImpl for Sent {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> EngineResult<DataType> {
        self.function.return_type(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        self.function.invoke_with_args(arguments)
    }
}

// Two that are made of the same are the same.
impl PartialEq for Sent {
    fn eq(&self, other: &Sent) -> bool {
        (self.name(), &self.written) == (other.name(), &other.written)
    }
}

impl Eq for Sent {}

impl Hash for Sent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name(), &self.written).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
    use datafusion::arrow::datatypes::Field;
    use datafusion::config::ConfigOptions;

    use super::*;
    use crate::Pattern;

    fn mask_reason(function: &ScalarUDF, machine: &str) -> Option<String> {
        let policy: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        let machines: ArrayRef = Arc::new(StringViewArray::from(vec![machine]));
        let field = |gives| Arc::new(Field::new("", gives, true));
        let reasons = function.invoke_with_args(ScalarFunctionArgs {
            args: vec![ColumnarValue::Array(policy), ColumnarValue::Array(machines)],
            arg_fields: vec![field(DataType::Int64), field(DataType::Utf8View)],
            number_rows: 1,
            return_field: field(DataType::Utf8View),
            config_options: Arc::new(ConfigOptions::default()),
        });
        let ColumnarValue::Array(reasons) = reasons.unwrap() else { panic!("no array") };
        reasons.as_string_view().iter().next().flatten().map(str::to_owned)
    }

    #[test]
    fn a_function_knows_elsewhere_what_it_knew_here_and_is_sent_on_as_it_came() {
        let judgement = Judgement {
            masks: vec![(Pattern::new("/^gpu[0-9]+/").unwrap(), "broken fans".to_owned())],
            ..Judgement::default()
        };
        let zone = TimeZone::get("America/Chicago").unwrap();
        let policies = Arc::new(Policies::own(&judgement));
        let known = Known { zone, policies: policies.clone(), scopes: Vec::new() };
        let written = known.written().unwrap();
        let there = receive("mask_reason", &written).unwrap();
        assert_eq!(mask_reason(&there, "gpu12.example.org").as_deref(), Some("broken fans"));
        assert_eq!(mask_reason(&there, "node12"), None);
        assert_eq!(received(&there), Some(&written[..]));
        assert_eq!(there, receive("mask_reason", received(&there).unwrap()).unwrap());
        let read = Known::read(&written).unwrap();
        assert_eq!(read.policies, policies);
        assert_eq!(read.zone.iana_name(), Some("America/Chicago"));
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        assert!(is_ours("mask_reason") && !is_ours("abs") && !is_ours("user_pseudonym"));
        assert!(receive("mask_reason", b"{}").is_err());
        assert!(receive_aggregate("survival").is_some() && receive_aggregate("sum").is_none());
    }
}
