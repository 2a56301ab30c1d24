//! Where a request comes from, as far as a browser says so: no page can make it say something else.

use axum::http::{HeaderMap, HeaderName, Method, header};

/// What a browser says of the page that a request comes from.
pub(crate) const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The page that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// One of this very service.
    Here,
    /// One of another site or port.
    Elsewhere,
    /// None: a program asks, or a person who wrote the address.
    None,
}

impl Origin {
    /// What the headers say. Every browser of today says where it comes from with whatever is sent by a method that changes something, and
    /// with what a script asks for.
    pub fn of(headers: &HeaderMap) -> Origin {
        if let Some(site) = headers.get(SITE) {
            return match site.as_bytes() {
                b"same-origin" => Origin::Here,
                b"none" => Origin::None,
                _ => Origin::Elsewhere,
            };
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Origin::None };
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let name = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
        let is_here = name.zip(text(header::HOST)).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host));
        if is_here { Origin::Here } else { Origin::Elsewhere }
    }
}

/// Whether a person follows a link to here, of which the page that it stands on learns nothing.
pub(crate) fn is_link(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &'static str, value: &str| headers.get(name).is_some_and(|given| given == value);
    method.is_safe() && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_page_is_known_by_what_its_browser_says() {
        let of = |headers: &[(HeaderName, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            Origin::of(&headers.collect())
        };
        let host = (header::HOST, "localhost:8080");
        assert_eq!(of(std::slice::from_ref(&host)), Origin::None);
        for (site, origin) in [
            ("same-origin", Origin::Here),
            ("none", Origin::None),
            ("same-site", Origin::Elsewhere),
            ("cross-site", Origin::Elsewhere),
        ] {
            assert_eq!(of(&[host.clone(), (SITE, site)]), origin, "{site}");
        }
        for (origin, is) in [
            ("http://localhost:8080", Origin::Here),
            ("https://LOCALHOST:8080", Origin::Here),
            ("http://localhost:3000", Origin::Elsewhere),
            ("https://evil.example", Origin::Elsewhere),
            ("null", Origin::Elsewhere),
        ] {
            assert_eq!(of(&[host.clone(), (header::ORIGIN, origin)]), is, "{origin}");
        }
    }
}
