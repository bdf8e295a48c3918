//! Which GPUs are asked for: by id, by the beginning of an id, or by a pattern.

use crate::judgement::Pattern;

/// An id, its beginning, or a pattern of ids: with `*` and `?`, or a regular expression between
/// slashes. `GPU-` before an id may be left out, and the case of letters does not matter.
pub(crate) enum GpuFilter {
    Pattern(Pattern),
    Beginning(String),
}

impl GpuFilter {
    /// Reads a filter. The error states what is wrong with it.
    pub(crate) fn new(written: &str) -> Result<GpuFilter, String> {
        Ok(if written.contains(['*', '?']) || written.starts_with('/') {
            GpuFilter::Pattern(Pattern::new(written)?)
        } else {
            GpuFilter::Beginning(bare(written))
        })
    }

    /// Returns whether an id is asked for. Numbers are compared whole: GPU 1 is not GPU 10.
    pub(crate) fn matches(&self, id: &str) -> bool {
        let bare = bare(id);
        match self {
            GpuFilter::Pattern(pattern) => pattern.matches(id) || pattern.matches(&bare),
            GpuFilter::Beginning(wanted) => {
                let is_number = bare.bytes().all(|byte| byte.is_ascii_digit());
                bare == *wanted
                    || (!is_number && !wanted.is_empty() && bare.starts_with(wanted.as_str()))
            }
        }
    }
}

/// Returns an id in lower case without the `GPU-` or `gpu:` before it.
fn bare(text: &str) -> String {
    let text = text.trim().to_lowercase();
    let rest = text.strip_prefix("gpu").map(|rest| rest.trim_start_matches(['-', ':', '_', ' ']));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(id: &str, wanted: &str) -> bool {
        GpuFilter::new(wanted).unwrap().matches(id)
    }

    #[test]
    fn a_number_is_whole() {
        assert!(has("gpu:1", "1") && has("gpu:1", "gpu:1") && has("1", "GPU-1"));
        assert!(!has("gpu:10", "1") && !has("gpu:1", "10") && !has("GPU-0a", ""));
    }

    #[test]
    fn ids_fit_a_pattern_with_and_without_what_stands_before_them() {
        for wanted in ["GPU-0a*", "0a*", "*b12", "gpu-0?fb12", "/^GPU-0.f/", "/fb/"] {
            assert!(has("GPU-0aFb12", wanted), "{wanted}");
            assert!(!has("GPU-1aFc12", wanted), "{wanted}");
        }
        assert!(has("MIG-0c5e2e0f-0f21", "MIG-*") && !has("GPU-0c5e2e0f", "MIG-*"));
        assert!(has("gpu:10", "gpu:1?") && !has("gpu:1", "gpu:1?"));
        assert!(GpuFilter::new("/(/").is_err());
    }
}
