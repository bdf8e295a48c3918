//! The description of the API, made of the lists that it is made of.

use axum::response::Response;
use query::now::LOOKS;
use query::{ANALYSES, Analysis, AnalysisOption, Values};
use serde_json::{Map, Value, json};

use super::{MOST_ROWS, ROWS, send};

/// `/api/v1/openapi.json`.
pub(super) async fn description() -> Response {
    send(&document())
}

fn document() -> Value {
    let mut paths = Map::new();
    paths.insert("/clusters".into(), plain("The clusters that anything is known of.", "clusters"));
    let constants = "What the site says of itself: what was granted to whom, head counts, prices.";
    paths.insert("/constants".into(), plain(constants, "constants"));
    paths.insert("/reports".into(), plain("Every report, and what it can be told.", "reports"));
    for analysis in ANALYSES {
        paths.insert(format!("/reports/{}", analysis.name), report(analysis));
    }
    for look in LOOKS {
        let parameters = [cluster(), limit(), offset()];
        let path = format!("/now/{}", look.name);
        paths.insert(path, operation(look.question, "now", &parameters, "Report"));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Plimsoll",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The usage history of SLURM and HTCondor clusters. Unknown is null, never zero.",
        },
        // Relative to this description, so that it holds below any path of a proxy.
        "servers": [{ "url": "." }],
        "paths": paths,
        "components": { "schemas": schemas() },
    })
}

fn report(analysis: &Analysis) -> Value {
    let mut parameters = vec![
        cluster(),
        parameter(
            "hours",
            "The last so many hours.",
            &json!({ "type": "integer", "minimum": 1, "maximum": 87_840 }),
        ),
        parameter(
            "days",
            "From midnight so many days ago; 7 if no time is said.",
            &json!({ "type": "integer", "minimum": 0, "maximum": 3659 }),
        ),
        parameter(
            "from",
            "The day or moment that the period begins with.",
            &json!({ "type": "string" }),
        ),
        parameter(
            "to",
            "The day or moment that it ends with, not included; now if it is not said.",
            &json!({ "type": "string" }),
        ),
        limit(),
        offset(),
    ];
    parameters.extend(analysis.options.iter().map(option));
    operation(analysis.question, "reports", &parameters, "Report")
}

fn option(option: &AnalysisOption) -> Value {
    let schema = match option.values {
        Values::OneOf(alternatives) => {
            let words: Vec<&str> = alternatives.iter().map(|one| one.word).collect();
            json!({ "type": "string", "enum": words, "default": words[0] })
        }
        Values::Number(unsaid) => json!({
            "type": "integer", "minimum": 1, "maximum": u32::MAX, "default": unsaid.parse::<i64>().ok(),
        }),
        Values::Duration(unsaid) => json!({ "type": "string", "default": unsaid }),
        Values::Moment | Values::Filter | Values::Checked(_) | Values::Subject | Values::Device => {
            json!({ "type": "string" })
        }
    };
    let mut parameter = parameter(option.name, option.meaning, &schema);
    parameter["required"] = json!(matches!(option.values, Values::Subject));
    parameter
}

fn parameter(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

fn cluster() -> Value {
    json!({
        "name": "cluster", "in": "query", "description": "Only this cluster; may be said several times.",
        "schema": { "type": "array", "items": { "type": "string" } }, "explode": true,
    })
}

fn limit() -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": ROWS });
    parameter("limit", "How many rows to give at the most.", &schema)
}

fn offset() -> Value {
    let schema = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0 });
    parameter("offset", "How many rows to leave out before them.", &schema)
}

fn plain(summary: &str, tag: &str) -> Value {
    operation(summary, tag, &[], "Object")
}

fn operation(summary: &str, tag: &str, parameters: &[Value], schema: &str) -> Value {
    let answer = |description: &str, media_type: &str, schema: &str| {
        let reference = format!("#/components/schemas/{schema}");
        json!({ "description": description, "content": { media_type: { "schema": { "$ref": reference } } } })
    };
    json!({ "get": {
        "summary": summary,
        "tags": [tag],
        "parameters": parameters,
        "responses": {
            "200": answer("The answer.", "application/json", schema),
            "400": answer("It cannot be asked so.", "application/problem+json", "Problem"),
            "404": answer("There is no such thing.", "application/problem+json", "Problem"),
            "500": answer("Something went wrong.", "application/problem+json", "Problem"),
            "503": answer("It took too long.", "application/problem+json", "Problem"),
        },
    } })
}

fn schemas() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    json!({
        "Object": { "type": "object" },
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": { "type": "string" },
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string" },
            },
        },
        "Report": {
            "type": "object",
            "required": ["paging", "report"],
            "properties": {
                "paging": {
                    "type": "object",
                    "required": ["limit", "offset", "total", "next_offset"],
                    "properties": {
                        "limit": count, "offset": count, "total": count,
                        "next_offset": { "type": ["integer", "null"] },
                    },
                },
                "report": {
                    "type": "object",
                    "required": ["report", "title", "period", "coverage", "columns", "rows", "notes"],
                    "properties": {
                        "report": { "type": "string" },
                        "title": { "type": "string" },
                        "period": { "type": "object" },
                        "coverage": { "type": "object" },
                        "columns": { "type": "array", "items": { "type": "object" } },
                        "rows": { "type": "array", "items": { "type": "object" } },
                        "notes": { "type": "array", "items": { "type": "string" } },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_and_its_options_are_described() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 3 + ANALYSES.len() + LOOKS.len());
        let parameters = &document["paths"]["/reports/jobs"]["get"]["parameters"];
        let sort = parameters.as_array().unwrap().iter().find(|one| one["name"] == "sort").unwrap();
        assert_eq!(sort["schema"]["default"], "newest");
        let parameters = &document["paths"]["/reports/job"]["get"]["parameters"];
        let job = parameters.as_array().unwrap().iter().find(|one| one["name"] == "job").unwrap();
        assert_eq!(job["required"], true);
    }
}
