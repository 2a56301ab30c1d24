//! Which headers go on: those of a message, and not those of its connection.

use axum::http::{HeaderMap, HeaderName, header};

/// Headers that speak of one connection, beside those that `Connection` names (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What the names of our own headers begin with.
const OWN: &str = "veridiff-";

/// Takes out what speaks of one connection.
fn drop_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    // a length beside chunks counts for nothing, and must not go on by itself
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

/// Takes out our own, which nobody else may say.
pub(super) fn drop_own(headers: &mut HeaderMap) {
    let own: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with(OWN)).cloned().collect();
    own.iter().for_each(|name| drop(headers.remove(name)));
}

/// Those of a request that go on to the generator. Its host and length are told anew; an answer that is to be read is asked for as it is.
pub(super) fn of_request(headers: &HeaderMap, is_text: bool, keeps_key: bool) -> HeaderMap {
    let mut headers = headers.clone();
    drop_hops(&mut headers);
    drop_own(&mut headers);
    for name in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
        headers.remove(name);
    }
    if is_text {
        headers.remove(header::ACCEPT_ENCODING);
    }
    if !keeps_key {
        headers.remove(header::AUTHORIZATION);
    }
    headers
}

/// Leaves those of an answer that go on to the client.
pub(super) fn of_answer(headers: &mut HeaderMap) {
    drop_hops(headers);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_speaks_of_a_connection_or_to_the_service_goes_no_further() {
        let asked = headers(&[
            ("host", "localhost"),
            ("content-length", "3"),
            ("connection", "close, X-Hop , accept"),
            ("x-hop", "1"),
            ("accept", "a"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("expect", "100-continue"),
            ("accept-encoding", "gzip"),
            ("authorization", "Bearer secret"),
            ("veridiff-diff", "x"),
            ("veridiff-other", "x"),
            ("x-request-id", "7"),
            ("content-type", "application/json"),
        ]);
        assert_eq!(names(&of_request(&asked, true, false)), ["content-type", "x-request-id"]);
        let kept = of_request(&asked, false, true);
        assert_eq!(names(&kept), ["accept-encoding", "authorization", "content-type", "x-request-id"]);
    }

    #[test]
    fn a_length_beside_chunks_does_not_go_on() {
        let mut answer = headers(&[("transfer-encoding", "chunked"), ("content-length", "3"), ("server", "s")]);
        of_answer(&mut answer);
        assert_eq!(names(&answer), ["server"]);
        let mut answer =
            headers(&[("content-length", "3"), ("connection", "keep-alive"), ("veridiff-verdict", "clear")]);
        of_answer(&mut answer);
        assert_eq!(names(&answer), ["content-length", "veridiff-verdict"]);
        drop_own(&mut answer);
        assert_eq!(names(&answer), ["content-length"]);
    }
}
