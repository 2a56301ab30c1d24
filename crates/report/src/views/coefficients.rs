//! All features in one regression without a penalty, and those that matter most in it.

use super::view::View;
use crate::{
    grid::{Grid, number, p_value},
    names::{common_scorer, short},
    table::{NamedTable, record, records},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{Estimate, Evaluation, FitStatus, LeftOut, LikelihoodFit, StepwiseEvaluation, Term};

pub(super) const VIEW: View = View { analysis: Some("coefficients"), printed: Some(5), tables, legend, ..View::EMPTY };

/// Those that matter most, of the stepwise choice where there is one, else of all features.
pub(super) const LEADING: View =
    View { tables: |evaluation| leading_coefficients(evaluation).into_iter().collect(), ..View::EMPTY };

fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let Some(fit) = evaluation.analyses.get::<LikelihoodFit>() else { return Vec::new() };
    vec![NamedTable::new("coefficients", coefficient_grid("All features", fit, None), records(&fit.terms))]
}

/// Of the coefficients of all features and of those of a stepwise choice.
fn legend(evaluation: &Evaluation) -> String {
    let analyses = &evaluation.analyses;
    if analyses.get::<LikelihoodFit>().is_none() && analyses.get::<StepwiseEvaluation>().is_none() {
        return String::new();
    }
    "Coefficients: maximum likelihood on all rows, no penalty; VIF: variance inflation.\n\
     p: for independent rows, and with groups (sandwich); it knows nothing of a choice of features.\n"
        .to_owned()
}

/// The coefficients of a fit, which the title calls `what`. `folds` gives, for a feature, in how many folds it was chosen.
pub(super) fn coefficient_grid(what: &str, fit: &LikelihoodFit, folds: Option<&dyn Fn(&str) -> String>) -> Grid {
    let scorer = common_scorer(fit.terms.iter().map(|term| term.feature.as_str()));
    let status = match fit.status {
        FitStatus::Converged => "",
        FitStatus::Separated => "; SEPARATED, no finite estimate",
        FitStatus::QuasiSeparated => "; QUASI-SEPARATED, no finite estimate",
        FitStatus::NotConverged => "; NOT CONVERGED",
    };
    // a log-likelihood is never above zero; rounded to it, it has no sign
    let log_likelihood = |value: f64| if value > -0.05 { "0.0".to_owned() } else { format!("{value:.1}") };
    let title = format!(
        "{what}{status}: AIC {:.1}, log-likelihood {} (null {}), McFadden {:.3}",
        fit.aic,
        log_likelihood(fit.log_likelihood),
        log_likelihood(fit.log_likelihood_null),
        fit.pseudo_r2
    );
    let estimated = fit.intercept.is_some() || fit.terms.iter().any(|term| term.estimate.is_some());
    let mut heads = vec!["feature"];
    if estimated {
        heads.extend(["coefficient", "per sd", "SE", "z", "p", "p groups"]);
    }
    heads.push("VIF");
    heads.extend(folds.map(|_| "folds"));
    let mut grid = Grid::new(title, &heads);
    let estimate_cells = |estimate: Option<Estimate>| match estimate {
        None if !estimated => Vec::new(),
        None => vec!["-".to_owned(); 6],
        Some(estimate) => vec![
            number(estimate.coefficient),
            format!("{:+.3}", estimate.standardised),
            number(estimate.model.standard_error),
            format!("{:+.2}", estimate.model.z),
            p_value(Some(estimate.model.p)),
            p_value(estimate.clustered.map(|test| test.p)),
        ],
    };
    let vif = |term: &Term| match term.left_out {
        Some(LeftOut::Constant) => "constant".to_owned(),
        Some(LeftOut::Collinear) => "collinear".to_owned(),
        None => term.vif.map_or_else(|| "-".to_owned(), |vif| format!("{vif:.1}")),
    };
    for term in &fit.terms {
        let mut row = vec![short(&term.feature, scorer).to_owned()];
        row.extend(estimate_cells(term.estimate));
        row.push(vif(term));
        row.extend(folds.map(|folds| folds(&term.feature)));
        grid.push(row);
    }
    if estimated {
        let mut intercept = vec!["(intercept)".to_owned()];
        intercept.extend(estimate_cells(fit.intercept));
        grid.push(intercept);
    }
    grid
}

/// How many coefficients lead.
const N_LEADING: usize = 5;

/// The paper's tables 5 and 6: the metrics that matter most in the chosen regression, by the size of their z.
fn leading_coefficients(evaluation: &Evaluation) -> Option<NamedTable> {
    let (what, fit): (&str, &LikelihoodFit) =
        match (evaluation.analyses.get::<StepwiseEvaluation>(), evaluation.analyses.get::<LikelihoodFit>()) {
            (Some(stepwise), _) => ("stepwise choice", &stepwise.choice.fit),
            (None, Some(fit)) => ("all features", fit),
            (None, None) => return None,
        };
    let mut terms: Vec<_> = fit.terms.iter().filter_map(|term| Some((term, term.estimate?))).collect();
    terms.sort_by(|(_, a), (_, b)| b.model.z.abs().total_cmp(&a.model.z.abs()));
    terms.truncate(N_LEADING);
    let scorer = common_scorer(terms.iter().map(|(term, _)| term.feature.as_str()));
    let title = format!("The {} metrics that matter most ({what}), by |z|; * p < 0.05", terms.len());
    let mut grid = Grid::new(title, &["metric", "type", "per sd", "z", "p", "sign"]);
    for (term, estimate) in &terms {
        let test = &estimate.model;
        let family = CATALOGUE.family_of(&term.feature).map_or("other", |family| family.name);
        grid.push(vec![
            short(&term.feature, scorer).to_owned(),
            family.to_owned(),
            format!("{:+.2}{}", estimate.standardised, if test.p < 0.05 { "*" } else { "" }),
            format!("{:+.2}", test.z),
            p_value(Some(test.p)),
            if estimate.coefficient < 0.0 { "−" } else { "+" }.to_owned(),
        ]);
    }
    Some(NamedTable::new("leading-coefficients", grid, terms.iter().map(|(term, _)| record(term)).collect()))
}
