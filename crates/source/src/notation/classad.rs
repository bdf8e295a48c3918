//! ClassAds, as HTCondor's tools print them with `-json`.
//!
//! They are read in place: they come in pieces, an ad that cannot be read must not take the
//! others with it, and of its attributes few are wanted.

use std::borrow::Cow;

use jiff::Timestamp;
use memchr::memchr3;
use record::Text;

use crate::Parsed;

/// Cuts a JSON array of ads, which comes piece by piece, into single ads and has each read alone.
pub(crate) struct Ads<T> {
    parsed: Parsed<T>,
    /// What has come so far of an ad, or of a line between ads, that has not ended yet.
    unfinished: Vec<u8>,
    /// How many ads have begun.
    position: u64,
    inside: bool,
    open_braces: usize,
    in_string: bool,
    escaped: bool,
    open_arrays: usize,
}

impl<T> Default for Ads<T> {
    fn default() -> Self {
        Ads {
            parsed: Parsed::default(),
            unfinished: Vec::new(),
            position: 0,
            inside: false,
            open_braces: 0,
            in_string: false,
            escaped: false,
            open_arrays: 0,
        }
    }
}

impl<T> Ads<T> {
    /// Takes the next piece of the text, and hands every ad that ends in it to `read`.
    pub(crate) fn push(&mut self, piece: &[u8], read: impl Fn(&[u8]) -> Result<T, String>) {
        let mut rest = piece;
        while !rest.is_empty() {
            if !self.inside {
                rest = self.skip_to_ad(rest);
                continue;
            }
            let Some(length) = self.length_to_end_of_ad(rest) else {
                self.unfinished.extend_from_slice(rest);
                return;
            };
            let (end, behind) = rest.split_at(length);
            rest = behind;
            self.inside = false;
            let mut joined = std::mem::take(&mut self.unfinished);
            let ad = if joined.is_empty() {
                end
            } else {
                joined.extend_from_slice(end);
                &joined
            };
            match read(ad) {
                Ok(record) => self.parsed.records.push(record),
                Err(reason) => self.parsed.reject(self.position, reason, ad),
            }
        }
    }

    /// Takes the end of the text. What it breaks off is a reject; the whole ads before it count.
    pub(crate) fn finish(mut self) -> Parsed<T> {
        if self.inside {
            self.parsed.reject(self.position, "the output ends inside an ad", &self.unfinished);
            return self.parsed;
        }
        self.reject_line_between_ads();
        if self.open_arrays > 0 {
            self.parsed.reject(self.position + 1, "the output ends before its array does", b"");
        }
        self.parsed
    }

    /// Passes over brackets, commas and spaces, and sets aside any line that holds more.
    fn skip_to_ad<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        for (at, &byte) in text.iter().enumerate() {
            match byte {
                b'{' => {
                    self.reject_line_between_ads();
                    self.position += 1;
                    self.inside = true;
                    return &text[at..];
                }
                b'\n' => self.reject_line_between_ads(),
                _ if !self.unfinished.is_empty() => self.unfinished.push(byte),
                b'[' => self.open_arrays += 1,
                b']' => self.open_arrays = self.open_arrays.saturating_sub(1),
                b',' | b' ' | b'\t' | b'\r' => {}
                _ => self.unfinished.push(byte),
            }
        }
        &[]
    }

    fn reject_line_between_ads(&mut self) {
        if !self.unfinished.is_empty() {
            self.parsed.reject(self.position + 1, "this is no ad", &self.unfinished);
            self.unfinished.clear();
        }
    }

    /// How much of the text belongs to the ad that it lies in; unknown where the ad goes on.
    fn length_to_end_of_ad(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        if std::mem::take(&mut self.escaped) {
            at += 1;
        }
        loop {
            let rest = text.get(at..)?;
            if self.in_string {
                at += memchr3(b'"', b'\\', b'\n', rest)? + 1;
                if text[at - 1] != b'\\' {
                    // JSON has no line break inside a string: this one was never closed, and
                    // must not take the ads behind it with it.
                    self.in_string = false;
                } else if at < text.len() {
                    at += 1;
                } else {
                    self.escaped = true;
                }
                continue;
            }
            at += memchr3(b'"', b'{', b'}', rest)? + 1;
            match text[at - 1] {
                b'"' => self.in_string = true,
                b'{' => self.open_braces += 1,
                _ => self.open_braces -= 1,
            }
            if self.open_braces == 0 {
                return Some(at);
            }
        }
    }
}

/// One ad: its attributes, whose names know no case.
pub(crate) struct Ad<'a>(Vec<(&'a [u8], Value<'a>)>);

impl<'a> Ad<'a> {
    pub(crate) fn read(text: &'a [u8]) -> Result<Ad<'a>, String> {
        let mut reader = Reader { text, at: 0 };
        let mut attributes = Vec::with_capacity(48);
        reader.expect(b'{')?;
        if !reader.next_is(b'}') {
            loop {
                let name = reader.string()?;
                reader.expect(b':')?;
                attributes.push((&name[1..name.len() - 1], reader.value()?));
                if !reader.next_is(b',') {
                    break;
                }
            }
            reader.expect(b'}')?;
        }
        Ok(Ad(attributes))
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let mut attributes = self.0.iter();
        let found = attributes.find(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()))?;
        Some(found.1)
    }

    pub(crate) fn text(&self, name: &str) -> Option<Text> {
        self.get(name)?.text().map(Text::from)
    }

    /// A text that says something: a blank one is as good as none.
    pub(crate) fn words(&self, name: &str) -> Option<Text> {
        self.text(name).filter(|text| !text.trim().is_empty())
    }

    /// An expression as it is written, where the attribute is more than a literal.
    pub(crate) fn expression(&self, name: &str) -> Option<Text> {
        expression(self.get(name)?.string()?).map(|text| unescaped(text).into())
    }

    /// Whether an attribute is this word, in any case.
    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        let text = self.get(name).and_then(Value::text);
        text.is_some_and(|text| text.eq_ignore_ascii_case(word))
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.number()
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.integer()
    }

    pub(crate) fn truth(&self, name: &str) -> Option<bool> {
        self.get(name)?.truth()
    }

    /// A moment; 0 is how HTCondor writes that there was none.
    pub(crate) fn time(&self, name: &str) -> Option<Timestamp> {
        let seconds = self.integer(name).filter(|&seconds| seconds > 0)?;
        Timestamp::from_second(seconds).ok()
    }

    /// The GPUs that an attribute names; unknown where there is no such attribute.
    pub(crate) fn gpu_ids(&self, name: &str) -> Option<Vec<Text>> {
        self.get(name).filter(|value| !value.is_undefined()).map(Value::gpu_ids)
    }

    /// The ads that stand in this one, by name.
    pub(crate) fn nested(&self) -> impl Iterator<Item = (Cow<'a, str>, Ad<'a>)> {
        self.0.iter().filter(|(_, value)| value.0.starts_with(b"{")).filter_map(|(name, value)| {
            Some((String::from_utf8_lossy(name), Ad::read(value.0).ok()?))
        })
    }
}

/// One value as it was printed. ClassAds are not evaluated here: an expression that is more than
/// a literal is unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// Whether the ad says that this is unknown, rather than saying nothing.
    pub(crate) fn is_undefined(self) -> bool {
        self.0 == b"null"
    }

    fn text(self) -> Option<Cow<'a, str>> {
        let content = self.string()?;
        let Some(expression) = expression(content) else {
            return Some(unescaped(content));
        };
        let literal = unescaped(expression);
        let literal = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
        (!literal.contains('"')).then(|| Cow::Owned(literal.to_owned()))
    }

    fn number(self) -> Option<f64> {
        self.literal()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn integer(self) -> Option<i64> {
        let literal = self.literal()?;
        literal.parse().ok().or_else(|| {
            let number: f64 = literal.parse().ok()?;
            // Beyond this a float no longer tells whole numbers apart.
            (number.abs() < 9e15).then_some(number as i64)
        })
    }

    fn truth(self) -> Option<bool> {
        match self.literal()? {
            literal if literal.eq_ignore_ascii_case("true") => Some(true),
            literal if literal.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    fn gpu_ids(self) -> Vec<Text> {
        if self.0.starts_with(b"[") {
            return self.elements().into_iter().flat_map(Value::gpu_ids).collect();
        }
        let content = self.string().unwrap_or_default();
        let content = expression(content).unwrap_or(content);
        unescaped(content).split([',', ' ', '{', '}']).filter_map(gpu_id).collect()
    }

    fn elements(self) -> Vec<Value<'a>> {
        let mut reader = Reader { text: self.0, at: 0 };
        let mut elements = Vec::new();
        if reader.expect(b'[').is_ok() && !reader.next_is(b']') {
            while let Ok(element) = reader.value() {
                elements.push(element);
                if !reader.next_is(b',') {
                    break;
                }
            }
        }
        elements
    }

    /// What is between the quotes, escapes and all.
    fn string(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// A number or a truth value, be it bare, in quotes or an expression.
    fn literal(self) -> Option<&'a str> {
        let bare = match self.string() {
            Some(content) => expression(content).unwrap_or(content),
            None => self.0,
        };
        std::str::from_utf8(bare).ok().map(str::trim)
    }
}

/// A GPU's id in one spelling: `GPU-5d6e65db`, `MIG-…` with its UUID, `CUDA0`.
///
/// The same GPU is `GPU-5d6e65db` in AssignedGPUs and `GPUs_GPU_5d6e65db` where an attribute's
/// name is made of it, which can hold no hyphen.
pub(crate) fn gpu_id(spelling: &str) -> Option<Text> {
    let name = spelling.trim_matches(|letter: char| letter.is_whitespace() || letter == '"');
    let name = strip_prefix_of_any_case(name, "GPUs_").unwrap_or(name);
    if name.is_empty() {
        return None;
    }
    for kind in ["GPU", "MIG"] {
        if let Some(number) = strip_prefix_of_any_case(name, kind)
            && number.starts_with(['-', '_'])
        {
            let mut id = String::with_capacity(name.len());
            id.push_str(kind);
            id.extend(number.chars().map(|character| match character {
                '_' | '/' => '-',
                other => other.to_ascii_lowercase(),
            }));
            return Some(id.into());
        }
    }
    match strip_prefix_of_any_case(name, "CUDA") {
        Some(number) => Some(format!("CUDA{number}").into()),
        None => Some(name.into()),
    }
}

fn strip_prefix_of_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// What an expression says: HTCondor prints one as the string `/Expr(…)/`.
fn expression(content: &[u8]) -> Option<&[u8]> {
    let content = content.strip_prefix(b"\\").unwrap_or(content);
    let inner = content.strip_prefix(b"/Expr(")?;
    inner.strip_suffix(b")\\/").or_else(|| inner.strip_suffix(b")/"))
}

fn unescaped(content: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(content);
    if !content.contains(&b'\\') {
        return text;
    }
    // Where JSON knows no such escape, the text stays as it was printed.
    serde_json::from_str(&format!("\"{text}\"")).map_or(text, Cow::Owned)
}

/// Goes through JSON text from value to value.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Whether this comes next; if so, it is behind us.
    fn next_is(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.next_is(byte) { Ok(()) } else { Err(self.expected(&char::from(byte).to_string())) }
    }

    fn expected(&self, what: &str) -> String {
        format!("expected {what} at byte {} of the ad", self.at)
    }

    /// A string, with its quotes.
    fn string(&mut self) -> Result<&'a [u8], String> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        let start = self.at;
        let mut end = start + 1;
        while let Some(length) = memchr3(b'"', b'\\', b'\n', &self.text[end..]) {
            end += length + 1;
            match self.text[end - 1] {
                b'"' => {
                    self.at = end;
                    return Ok(&self.text[start..end]);
                }
                b'\\' if end < self.text.len() => end += 1,
                _ => break,
            }
        }
        Err(self.expected("a string that ends"))
    }

    fn value(&mut self) -> Result<Value<'a>, String> {
        let start = match self.peek() {
            Some(b'"') => return self.string().map(Value),
            Some(b'[' | b'{') => {
                let start = self.at;
                self.skip_nested()?;
                start
            }
            _ => {
                let start = self.at;
                let of_literal = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let rest = &self.text[start..];
                let literal = &rest[..rest.iter().take_while(|&byte| of_literal(byte)).count()];
                match literal.first() {
                    Some(b'-' | b'0'..=b'9') => {}
                    _ if [&b"true"[..], b"false", b"null"].contains(&literal) => {}
                    _ => return Err(self.expected("a value")),
                }
                self.at += literal.len();
                start
            }
        };
        Ok(Value(&self.text[start..self.at]))
    }

    /// Passes over a list or an ad with all that is in it.
    fn skip_nested(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'[' | b'{') => depth += 1,
                Some(b']' | b'}') => depth -= 1,
                Some(_) => {}
                None => return Err(self.expected("the end of a list")),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn names(ad: &[u8]) -> Result<String, String> {
        Ok(Ad::read(ad)?.text("Name").unwrap_or_default().into())
    }

    /// The names of the ads, then the rejects as `position: reason`.
    fn cut(pieces: &[&[u8]]) -> Vec<String> {
        let mut ads = Ads::default();
        for piece in pieces {
            ads.push(piece, names);
        }
        let Parsed { records, rejects } = ads.finish();
        let rejects =
            rejects.iter().map(|reject| format!("{}: {}", reject.position, reject.reason));
        records.iter().cloned().chain(rejects).collect()
    }

    #[test]
    fn ads_are_cut_at_their_braces_and_not_at_those_in_strings_or_nested_ads() {
        let text = br#"[{"Name":"a}\"{"},{"Nested":{"Name":"x"},"Name":"b"}, {"Name":"c"} ]"#;
        assert_eq!(cut(&[text]), ["a}\"{", "b", "c"]);
    }

    #[test]
    fn no_output_is_no_ads() {
        assert_eq!(cut(&[b""]), [""; 0]);
        assert_eq!(cut(&[b"[\n]\n"]), [""; 0]);
    }

    #[test]
    fn one_bad_ad_does_not_take_the_others_with_it() {
        let text = br#"[{"Name":"a"},{"Name" "b"},{"Name":"c"}]"#;
        assert_eq!(cut(&[text]), ["a", "c", "2: expected : at byte 8 of the ad"]);
    }

    #[test]
    fn a_string_that_does_not_end_stops_at_its_line() {
        let text = b"[\n{\n\"Name\":\"a\n}\n,\n{\n\"Name\":\"b\"\n}\n]";
        assert_eq!(cut(&[text]), ["b", "1: expected a string that ends at byte 9 of the ad"]);
    }

    #[test]
    fn a_cut_off_array_keeps_its_whole_ads() {
        assert_eq!(cut(&[br#"[{"Name":"a"},{"Na"#]), ["a", "2: the output ends inside an ad"]);
        assert_eq!(cut(&[br#"[{"Name":"a"},"#]), ["a", "2: the output ends before its array does"]);
    }

    #[test]
    fn a_line_between_ads_is_set_aside() {
        let text = b"Welcome to [this] host\n[\n{\"Name\":\"a\"}\n]\nbye";
        assert_eq!(cut(&[text]), ["a", "1: this is no ad", "2: this is no ad"]);
    }

    #[test]
    fn values_are_read_bare_in_quotes_and_as_expressions() {
        let ad = Ad::read(
            br#"{"Bare":8,"Quoted":"8.5","Expr":"\/Expr(9)\/","Sum":"/Expr(a + 1)/","None":null,
                 "True":true,"Text":"a\u00e9\n","Literal":"/Expr(\"x\")/","Zero":0,"Blank":" "}"#,
        )
        .unwrap();
        assert_eq!(ad.integer("bare"), Some(8));
        assert_eq!((ad.number("Quoted"), ad.integer("QUOTED")), (Some(8.5), Some(8)));
        assert_eq!(ad.number("Expr"), Some(9.0));
        assert_eq!((ad.number("Sum"), ad.text("Sum")), (None, None));
        assert_eq!((ad.number("None"), ad.text("None"), ad.number("Absent")), (None, None, None));
        assert!(ad.get("None").unwrap().is_undefined());
        assert_eq!((ad.truth("True"), ad.truth("Bare")), (Some(true), None));
        assert_eq!(ad.text("Text").as_deref(), Some("a\u{e9}\n"));
        assert_eq!(ad.text("Literal").as_deref(), Some("x"));
        assert_eq!(ad.time("Zero"), None);
        assert_eq!((ad.text("Blank").as_deref(), ad.words("Blank")), (Some(" "), None));
    }

    #[test]
    fn text_that_is_not_utf_8_is_kept_as_well_as_can_be() {
        let ad = b"{\"Name\":\"caf\xe9\"}";
        assert_eq!(Ad::read(ad).unwrap().text("Name").as_deref(), Some("caf\u{fffd}"));
    }

    #[test]
    fn a_gpu_has_one_id_however_it_is_spelled() {
        for (spellings, id) in [
            (
                &["GPU-5d6e65db", "GPU_5d6e65db", "GPUs_GPU_5d6e65db", " gpu-5D6E65DB "][..],
                "GPU-5d6e65db",
            ),
            (
                &[
                    "MIG-30bb8b19-d310-f0ff-e526-ea818ed9e60c",
                    "GPUs_MIG_30bb8b19_d310_f0ff_e526_ea818ed9e60c",
                ],
                "MIG-30bb8b19-d310-f0ff-e526-ea818ed9e60c",
            ),
            (&["MIG-GPU-5d6e65db/7/0", "GPUs_MIG_GPU_5d6e65db_7_0"], "MIG-gpu-5d6e65db-7-0"),
            (&["CUDA0", "GPUs_CUDA0", "cuda0"], "CUDA0"),
        ] {
            for spelling in spellings {
                assert_eq!(gpu_id(spelling).as_deref(), Some(id), "{spelling}");
            }
        }
        assert_eq!(gpu_id(" "), None);
    }

    #[test]
    fn gpus_are_named_in_strings_and_in_lists_of_references() {
        for (printed, ids) in [
            (r#""GPU-1a,GPU-2b""#, &["GPU-1a", "GPU-2b"][..]),
            (r#""GPU-1a, CUDA0""#, &["GPU-1a", "CUDA0"]),
            (r#"["\/Expr(GPUs_GPU_1a)\/","/Expr(GPUs_GPU_2b)/"]"#, &["GPU-1a", "GPU-2b"]),
            (r#""/Expr({ GPUs_GPU_1a, GPUs_GPU_2b })/""#, &["GPU-1a", "GPU-2b"]),
            (r#""""#, &[]),
            ("[\n]", &[]),
            ("0", &[]),
        ] {
            let ad = format!(r#"{{"AvailableGPUs":{printed}}}"#);
            let found = Ad::read(ad.as_bytes()).unwrap().gpu_ids("AvailableGPUs");
            assert_eq!(found.unwrap(), ids, "{printed}");
        }
        assert_eq!(Ad::read(b"{}").unwrap().gpu_ids("AvailableGPUs"), None);
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            text in r#"(\[|\]|\{|\}|"|\\|,|:|\n|[a-z]|\{"Name":"x"\}){0,60}"#,
            cuts in prop::collection::vec(0_usize..80, 0..5),
        ) {
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(cut(&pieces), cut(&[text.as_bytes()]));
        }

        /// Nothing is lost: between the ads and the rejects stand only brackets, commas and blanks.
        #[test]
        fn every_byte_is_in_an_ad_or_in_a_reject_or_punctuation(
            text in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200)
                    .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                r#"(\[|\]|\{|\}|"|\\|,|:|\n|[a-zé ]|\{"Name":"x"\}){0,60}"#,
            ],
        ) {
            let mut ads = Ads::default();
            ads.push(text.as_bytes(), |ad| Ok(String::from_utf8_lossy(ad).into_owned()));
            let Parsed { records, rejects } = ads.finish();
            let (mut records, mut rejects) = (records.iter(), rejects.iter());
            let mut rest = text.as_str();
            loop {
                rest = rest.trim_start_matches(['[', ']', ',', ' ', '\t', '\r', '\n']);
                let piece = match rest.chars().next() {
                    None => break,
                    // What begins as an ad is a reject only where the text ends before the ad does.
                    Some('{') => records.next().or_else(|| rejects.next().map(|reject| &reject.text)),
                    Some(_) => rejects.next().map(|reject| &reject.text),
                };
                let piece = piece.expect("what is no punctuation is in an ad or in a reject");
                prop_assert!(rest.starts_with(piece.as_str()), "{rest:?} {piece:?}");
                rest = &rest[piece.len()..];
            }
            prop_assert_eq!(records.next(), None);
            let last: Vec<&str> = rejects.map(|reject| reject.reason.as_str()).collect();
            prop_assert!(last.is_empty() || last == ["the output ends before its array does"], "{last:?}");
        }

        #[test]
        fn what_serde_json_writes_is_read_back(
            name in "[A-Za-z]{1,9}", text in "\\PC*", number in any::<i64>(), pretty in any::<bool>(),
        ) {
            let value = json!({"A": [{"B": text}, [], 1], name.clone(): text, "9": number, "8": null});
            let printed = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let printed = printed.unwrap();
            let ad = Ad::read(printed.as_bytes()).unwrap();
            if !name.eq_ignore_ascii_case("a") && !text.starts_with("/Expr(") {
                prop_assert_eq!(ad.text(&name), Some(text.into()));
            }
            prop_assert_eq!(ad.integer("9"), Some(number));
        }
    }
}
