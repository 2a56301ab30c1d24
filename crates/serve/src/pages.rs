//! Who shows pages to people. The service sees to who may ask, and to forms that come from pages of its own; it knows nothing of what
//! they say.

use std::{fmt, sync::Arc};

use crate::refusal::Refusal;

/// What a person asks for in a browser.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The path, one of [`Pages::paths`] or [`Pages::forms`].
    pub path: &'a str,
    /// The names and values of the query, or of the form that was sent, in their order.
    pub fields: &'a [(String, String)],
    /// Who asks: what the service calls the token by which he logged in, or `local` where there are no tokens.
    pub who: &'a str,
    /// What every form of the answer has to send in the field [`FORM_TOKEN`].
    pub form_token: &'a str,
    /// Whether he has logged in, and can log out.
    pub is_logged_in: bool,
}

/// The field of a form that says that it stood on a page of the service. A form without it is refused.
pub const FORM_TOKEN: &str = "form_token";

/// Where a person logs in, by a form with the fields `token` and `next`, the path that he wanted.
pub const LOGIN: &str = "/login";

/// Where a person logs out, by a form.
pub const LOGOUT: &str = "/logout";

/// What a person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A page.
    Page {
        /// The document.
        html: String,
        /// What it may do, as the header `Content-Security-Policy` says it.
        policy: String,
    },
    /// Another page: its path with its query.
    Elsewhere(String),
}

/// Shows pages. All of it may block, and runs on threads that may.
pub trait Pages: Send + Sync {
    /// The paths of pages.
    fn paths(&self) -> &'static [&'static str];

    /// The paths that take a form.
    fn forms(&self) -> &'static [&'static str];

    /// A page, for one who may see it.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Shape`], and [`Refusal::Fault`] where what it shows cannot be read.
    fn show(&self, ask: &Ask<'_>) -> Result<Shown, Refusal>;

    /// Does what a form asks for, for one who may, and says where to go on.
    ///
    /// # Errors
    /// As [`Pages::show`].
    fn take(&self, ask: &Ask<'_>) -> Result<Shown, Refusal>;

    /// The page with the form by which one logs in, to go on at `next`; `is_wrong` is whether a token was given that is none. It says
    /// nothing of what other pages show.
    fn login(&self, next: &str, is_wrong: bool) -> Shown;

    /// Says on a page that something is refused.
    fn refused(&self, refusal: &Refusal) -> Shown;
}

/// Pages that are shared with who works on what they show.
#[derive(Clone)]
pub struct SharedPages(pub Arc<dyn Pages>);

impl fmt::Debug for SharedPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPages").finish_non_exhaustive()
    }
}
