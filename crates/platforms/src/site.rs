//! In what code hosts differ for who asks them.

/// A kind of code host.
#[derive(Debug, PartialEq, Eq)]
pub struct Site {
    /// What people call it.
    pub name: &'static str,
    /// What people call a request to merge there.
    pub request: &'static str,
    /// Where its own service answers.
    pub base: &'static str,
    /// The variables that name another server, of which the first that is set counts.
    pub base_variables: &'static [&'static str],
    /// What an address of another server looks like.
    pub example: &'static str,
    /// The variables that hold a token, of which the first that is set counts, and how each is sent.
    pub token_variables: &'static [(&'static str, Sent)],
    /// The variable of a token that hints name.
    pub token: &'static str,
    /// What such a token must allow.
    pub scope: &'static str,
    /// The form in which its JSON is asked for.
    pub json: &'static str,
    /// Headers that every request has.
    pub headers: &'static [(&'static str, &'static str)],
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// As `Authorization: Bearer`.
    Bearer,
    /// As GitLab's `Job-Token`.
    Job,
}

/// GitHub, or a server of GitHub Enterprise.
pub const GITHUB: &Site = &Site {
    name: "GitHub",
    request: "pull request",
    base: "https://api.github.com",
    base_variables: &["GITHUB_API_URL"],
    example: "https://HOST/api/v3",
    // as GitHub's own program reads them
    token_variables: &[("GH_TOKEN", Sent::Bearer), ("GITHUB_TOKEN", Sent::Bearer)],
    token: "GITHUB_TOKEN",
    scope: "read pull requests",
    json: "application/vnd.github+json",
    headers: &[("x-github-api-version", "2022-11-28")],
};

/// GitLab, or a server of one's own.
pub const GITLAB: &Site = &Site {
    name: "GitLab",
    request: "merge request",
    base: "https://gitlab.com/api/v4",
    base_variables: &["GITLAB_API_URL", "CI_API_V4_URL"],
    example: "https://HOST/api/v4",
    token_variables: &[("GITLAB_TOKEN", Sent::Bearer), ("CI_JOB_TOKEN", Sent::Job)],
    token: "GITLAB_TOKEN",
    scope: "read_api; most servers let no job's token read merge requests",
    json: "application/json",
    headers: &[],
};
