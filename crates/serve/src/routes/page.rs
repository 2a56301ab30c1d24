//! Pages for people: who may see them, how one logs in, and that a form comes from a page of ours.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use tokio::task::spawn_blocking;

use crate::{
    body::{self, Sender},
    origin::{Origin, SITE},
    pages::{Ask, FORM_TOKEN, Pages, SharedPages, Shown},
    refusal::{Code, Refusal},
    service::Service,
    sessions::{Visitor, set_cookie},
    tokens::{Client, hash},
};

/// Whether the connection is one of TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;

/// How a proxy says by which scheme it was asked.
const SCHEME: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Has a browser ask again from here. It sends its cookie only where it was led from a page of the same site, and so not for a link that
/// stands elsewhere; this page leads there.
const AGAIN: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0\">\
                     <title>veridiff</title><p><a href=\"\">Go on</a></p></html>";

type Fields = Vec<(String, String)>;

fn pages(service: &Service) -> Result<Arc<dyn Pages>, Refusal> {
    service.pages.as_ref().map(|SharedPages(pages)| Arc::clone(pages)).ok_or(Refusal::NotFound)
}

/// Who looks at pages: everybody on this machine where there are no tokens, and else who has logged in with one that is still known.
pub(crate) fn visitor(service: &Service, headers: &HeaderMap) -> Result<(Arc<Client>, Visitor), Refusal> {
    let tokens = service.tokens();
    let (client, visitor) = if tokens.are_needed() {
        let (token, visitor) = service.sessions.of(headers, Instant::now()).ok_or(Refusal::Token)?;
        (tokens.by_hash(&token)?, visitor)
    } else {
        (tokens.client(headers)?, service.sessions.local())
    };
    client.request()?;
    Ok((client, visitor))
}

/// What one gets who has not logged in: the form for it, and nothing of the page.
pub(crate) fn stranger(service: &Service, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
    let Ok(pages) = pages(service) else { return Refusal::Token.into_response() };
    let mut response = if method == Method::GET && headers.get(SITE).is_some_and(|site| site == "cross-site") {
        (StatusCode::UNAUTHORIZED, [(header::CONTENT_TYPE, HTML)], AGAIN).into_response()
    } else {
        let next = uri.path_and_query().map_or("/", |next| next.as_str());
        let next = if method == Method::GET { next } else { "/" };
        written(StatusCode::UNAUTHORIZED, pages.login(next, false))
    };
    response.extensions_mut().insert(Code(Refusal::Token.code()));
    response
}

/// A page.
pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(visitor): Extension<Visitor>,
    uri: Uri,
) -> Response {
    let fields = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    told(&service, answered(&service, client, visitor, &uri, fields, |pages, ask| pages.show(ask)).await)
}

/// What a form of a page asks for.
pub(super) async fn take(
    State(service): State<Arc<Service>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(visitor): Extension<Visitor>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let taken = async {
        let fields = form(&service, &headers, body).await?;
        is_sent_by(&visitor, &fields)?;
        answered(&service, client, visitor, &uri, fields, |pages, ask| pages.take(ask)).await
    };
    told(&service, taken.await)
}

/// Leads one who asks for the way in to the first page, which has it.
pub(super) async fn start() -> Response {
    written(StatusCode::SEE_OTHER, Shown::Elsewhere("/".to_owned()))
}

/// Begins a session for one who has a token.
pub(super) async fn login(
    State(service): State<Arc<Service>>,
    over_tls: Option<Extension<OverTls>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let begun = async {
        let (pages, tokens) = (pages(&service)?, service.tokens());
        if !tokens.are_needed() {
            return Err(Refusal::NotFound);
        }
        let fields = form(&service, &headers, body).await?;
        let next = Some(field(&fields, "next")).filter(|next| is_ours(pages.as_ref(), next)).unwrap_or("/");
        let token = hash(field(&fields, "token").trim().as_bytes());
        if tokens.by_hash(&token).is_err() {
            let mut response = written(StatusCode::UNAUTHORIZED, pages.login(next, true));
            response.extensions_mut().insert(Code(Refusal::Token.code()));
            return Ok(response);
        }
        let name = service.sessions.begin(token, Instant::now()).ok_or(Refusal::Fault)?;
        let mut response = written(StatusCode::SEE_OTHER, Shown::Elsewhere(next.to_owned()));
        give(&mut response, &set_cookie(&name, is_secure(over_tls.is_some(), &headers)));
        Ok::<Response, Refusal>(response)
    };
    begun.await.unwrap_or_else(|refusal| told(&service, Err(refusal)))
}

/// Ends a session.
pub(super) async fn logout(
    State(service): State<Arc<Service>>,
    Extension(visitor): Extension<Visitor>,
    over_tls: Option<Extension<OverTls>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let ended = async {
        is_sent_by(&visitor, &form(&service, &headers, body).await?)?;
        service.sessions.end(&headers);
        let mut response = written(StatusCode::SEE_OTHER, Shown::Elsewhere("/".to_owned()));
        give(&mut response, &set_cookie("", is_secure(over_tls.is_some(), &headers)));
        Ok::<Response, Refusal>(response)
    };
    ended.await.unwrap_or_else(|refusal| told(&service, Err(refusal)))
}

/// Has pages answer, on a thread that may block.
async fn answered(
    service: &Service,
    client: Arc<Client>,
    visitor: Visitor,
    uri: &Uri,
    fields: Fields,
    of: impl FnOnce(&dyn Pages, &Ask<'_>) -> Result<Shown, Refusal> + Send + 'static,
) -> Result<Shown, Refusal> {
    let (pages, path) = (pages(service)?, uri.path().to_owned());
    let answered = spawn_blocking(move || {
        let Visitor { form_token, is_logged_in } = &visitor;
        let (fields, is_logged_in) = (fields.as_slice(), *is_logged_in);
        of(pages.as_ref(), &Ask { path: &path, fields, who: &client.name, form_token, is_logged_in })
    });
    answered.await.map_err(|_| Refusal::Fault)?
}

/// The fields of a form that a page of ours sent.
async fn form(service: &Service, headers: &HeaderMap, body: Body) -> Result<Fields, Refusal> {
    if Origin::of(headers) != Origin::Here {
        return Err(Refusal::Foreign);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().is_none_or(|kind| kind.trim() != "application/x-www-form-urlencoded") {
        return Err(Refusal::Shape("a form is sent as `application/x-www-form-urlencoded`".to_owned()));
    }
    let (bytes, _lent) = body::taken(service, Sender::Anybody, headers, body).await?;
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

fn is_sent_by(visitor: &Visitor, fields: &Fields) -> Result<(), Refusal> {
    if visitor.sent(field(fields, FORM_TOKEN)) { Ok(()) } else { Err(Refusal::Foreign) }
}

/// Whether one can be sent on to a path, and stays here.
fn is_ours(pages: &dyn Pages, next: &str) -> bool {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    HeaderValue::from_str(next).is_ok() && pages.paths().contains(&path)
}

fn is_secure(is_over_tls: bool, headers: &HeaderMap) -> bool {
    is_over_tls || headers.get(SCHEME).is_some_and(|scheme| scheme == "https")
}

fn field<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
}

const HTML: &str = "text/html; charset=utf-8";

/// An answer of pages; a refusal for a person to read.
fn told(service: &Service, answer: Result<Shown, Refusal>) -> Response {
    match answer {
        Ok(shown @ Shown::Page { .. }) => written(StatusCode::OK, shown),
        Ok(shown @ Shown::Elsewhere(_)) => written(StatusCode::SEE_OTHER, shown),
        Err(refusal) => {
            let Ok(pages) = pages(service) else { return refusal.into_response() };
            let mut response = written(refusal.status(), pages.refused(&refusal));
            response.extensions_mut().insert(Code(refusal.code()));
            response
        }
    }
}

fn written(status: StatusCode, shown: Shown) -> Response {
    match shown {
        Shown::Page { html, policy } => {
            let headers = [
                (header::CONTENT_TYPE, HTML.to_owned()),
                (header::CONTENT_SECURITY_POLICY, format!("{policy}; frame-ancestors 'none'")),
                // a browser that tells no origin at all would have its own forms refused
                (header::REFERRER_POLICY, "same-origin".to_owned()),
            ];
            (status, headers, html).into_response()
        }
        Shown::Elsewhere(path) => match HeaderValue::from_str(&path) {
            Ok(path) => (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response(),
            Err(_) => Refusal::Fault.into_response(),
        },
    }
}

fn give(response: &mut Response, cookie: &str) {
    // it is made of hexadecimal digits
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
