use super::*;

fn all(input: &[u8]) -> Vec<Result<Sample, SampleError>> {
    read(input).collect()
}

fn only_error(line: &str) -> SampleError {
    let mut results = all(line.as_bytes());
    assert_eq!(results.len(), 1);
    results.remove(0).unwrap_err()
}

#[test]
fn a_full_sample_and_its_row() {
    let line = r#"{"x": [1], "id": "a", "diff": "-a", "text": "t", "task": "commit", "label": 1,
        "group": "g", "generator": "m", "language": null, "rating": 0.1}"#
        .replace('\n', "");
    let sample = read(line.as_bytes()).next().unwrap().unwrap();
    assert_eq!((sample.task, sample.label, sample.group.as_str()), (Task::Commit, Some(true), "g"));
    assert_eq!(
        serde_json::to_string(&sample.to_row()).unwrap(),
        concat!(
            r#"{"id":"a","task":"commit","generator":"m","language":null,"label":1,"label_type":null,"#,
            r#""group":"g","reference":null,"x":[1],"rating":0.1}"#
        )
    );
}

#[test]
fn defaults() {
    let sample = read(&b"\xef\xbb\xbf\n {\"id\": \"a\", \"diff\": \"-a\\n+b\", \"text\": \"t\"}\r\n\n"[..])
        .next()
        .unwrap()
        .unwrap();
    // printf -- '-a\n+b' | sha256sum
    assert_eq!(sample.group, "6ac335e92334b639");
    assert_eq!(sample, Sample::new("a", "-a\n+b", "t"));
    assert_eq!(sample.task, Task::Review);
}

#[test]
fn labels() {
    let label = |value: &str| {
        let line = format!(r#"{{"id": "a", "diff": "-a", "text": "t", "label": {value}}}"#);
        all(line.as_bytes()).remove(0).map(|sample| sample.label)
    };
    assert_eq!(label("1").unwrap(), Some(true));
    assert_eq!(label("0.0").unwrap(), Some(false));
    assert_eq!(label("null").unwrap(), None);
    for bad in ["2", "-1", "0.5", "\"1\"", "true", "[]"] {
        assert!(matches!(label(bad), Err(SampleError::Label { line: 1, found }) if found == bad), "{bad}");
    }
}

#[test]
fn a_bad_line_does_not_stop_the_next() {
    let input = b"{\"id\": \"a\", \"diff\": \"-a\", \"text\": \"t\"}\n\
        {\"id\": \"b\", \n\
        \n\
        {\"id\": \"\xff\"}\n\
        {\"id\": \"a\", \"diff\": \"-a\", \"text\": \"t\"}\n\
        {\"id\": \"c\", \"diff\": \"-a\", \"text\": \"t\"}";
    let results = all(input);
    assert!(results[0].is_ok());
    assert!(matches!(results[1], Err(SampleError::Json { line: 2, column: 11, .. })), "{:?}", results[1]);
    assert!(matches!(results[2], Err(SampleError::NotUtf8 { line: 4, byte: 9 })), "{:?}", results[2]);
    assert_eq!(results[3].as_ref().unwrap().id, "a", "ids may repeat");
    assert_eq!(results[4].as_ref().unwrap().id, "c");
    assert_eq!(results.len(), 5);
    assert_eq!(
        results[1..4].iter().filter_map(|r| r.as_ref().err()).map(SampleError::line).collect::<Vec<_>>(),
        [2, 4]
    );
}

#[test]
fn each_mistake_has_its_name() {
    assert!(matches!(only_error("[1]"), SampleError::NotObject { found: "an array", .. }));
    assert!(matches!(only_error(r#"{"id": "a", "text": "t"}"#), SampleError::Missing { field: "diff", .. }));
    assert!(matches!(only_error(r#"{"id": 7.5}"#), SampleError::Type { field: "id", found: "a number", .. }));
    assert!(matches!(only_error(r#"{"id": "a", "diff": " \n"}"#), SampleError::Empty { field: "diff", .. }));
    assert!(matches!(only_error(r#"{"id": "a", "diff": "-a", "text": ""}"#), SampleError::Empty { field: "text", .. }));
    let task = only_error(r#"{"id": "a", "diff": "-a", "text": "t", "task": "chat"}"#);
    assert!(task.to_string().contains("`review`, `commit`"), "{task}");
    let group = only_error(r#"{"id": "a", "diff": "-a", "text": "t", "group": {}}"#);
    assert!(matches!(group, SampleError::Type { field: "group", found: "an object", .. }));
    // The 23rd byte is the closing brace that comes instead of a value.
    let json = only_error(r#"{"id": "é", "diff": }"#);
    assert!(matches!(json, SampleError::Json { column: 22, .. }), "{json:?}");
    // Hostile nesting is an error, not a stack overflow.
    assert!(matches!(only_error(&"[".repeat(100_000)), SampleError::Json { .. }));
}

#[test]
fn an_integer_names_a_row_or_a_group_by_its_digits() {
    let results = all(br#"{"id": 7, "group": -18446744073709551615, "diff": "-a", "text": "t"}
{"id": 18446744073709551615, "group": 12, "diff": "-a", "text": "t", "mismatch_of": 7}"#);
    assert!(matches!(results[0], Err(SampleError::Type { field: "group", found: "a number", .. })), "{:?}", results[0]);
    let sample = results[1].as_ref().unwrap();
    assert_eq!((sample.id.as_str(), sample.group.as_str()), ("18446744073709551615", "12"));
    assert_eq!(sample.extra["mismatch_of"], "7", "as the id of the row that it names");
}

#[test]
fn ids_that_repeat_get_numbers_that_are_free() {
    let distinct = |ids: &[&str]| {
        let mut samples: Vec<Sample> = ids.iter().map(|id| Sample::new(id, "+x", "t")).collect();
        let renamed = make_ids_distinct(&mut samples);
        (samples.into_iter().map(|sample| sample.id).collect::<Vec<_>>(), renamed)
    };
    assert_eq!(distinct(&["a", "b"]), (vec!["a".to_owned(), "b".to_owned()], None));
    let (ids, renamed) = distinct(&["a", "b", "a", "a-2", "a", "a-2"]);
    assert_eq!(ids, ["a", "b", "a-3", "a-2", "a-4", "a-2-2"]);
    assert_eq!(renamed, Some((3, "a-3".to_owned())));
}

/// An input that breaks off, as a disk or a pipe that fails.
struct Broken(&'static [u8]);

impl std::io::Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Err(std::io::Error::other("gone"));
        }
        std::io::Read::read(&mut self.0, into)
    }
}

#[test]
fn an_input_is_read_whole_and_its_bad_lines_kept_aside() {
    let input = "{\"id\": \"a\", \"diff\": \"+x\", \"text\": \"t\"}\n\nnot json\n\
                 {\"id\": \"a\", \"diff\": \"+y\", \"text\": \"t\"}\n{\"id\": \"b\"}\n";
    let all = Samples::read(input.as_bytes()).unwrap();
    let named: Vec<(usize, &str)> = all.samples.iter().map(|(place, sample)| (*place, sample.id.as_str())).collect();
    assert_eq!(named, [(0, "a"), (2, "a-2")]);
    assert_eq!(all.unreadable.iter().map(SampleError::line).collect::<Vec<_>>(), [3, 5]);
    assert_eq!(all.renamed, Some(Renamed { n: 1, first: "a-2".into() }));
    assert_eq!(all.into_samples().len(), 2);

    let cut = Samples::read(std::io::BufReader::new(Broken(b"{\"id\": \"a\", \"diff\": \"+x\", \"text\": \"t\"}\n")));
    assert!(matches!(cut, Err(SampleError::Read { line: 2, .. })), "{cut:?}");
}

#[test]
fn a_fingerprint_tells_texts_apart() {
    let [a, b] = [Sample::new("x", "+ab", "c"), Sample::new("x", "+a", "bc")].map(|sample| fingerprint(&sample));
    assert!(a != b && a.len() == 16);
    assert_eq!(a, fingerprint(&Sample::new("y", "+ab", "c")), "whatever the id");
}
