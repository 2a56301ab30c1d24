//! What the model's residual stream holds while it predicts the text: the mean state, and the state before the last token, which has
//! read all but that one.
//!
//! Probes on such states are the usual way to ask a model what it "knows" (Azaria and Mitchell 2023, arXiv:2304.13734); they see what
//! their labels teach. Lists of numbers: only a learner makes something of them.

use veridiff_engine::reading::hidden::LayerStates;

use super::{
    family::{Compute, Family, Feature, Needs, OF_SCORER, SCORER, with_keys},
    per_token::mean,
};
use crate::measurement::Measurement;

/// The metadata key that says which layers the states are of.
pub(crate) const LAYERS_KEY: &str = "hidden_layers";

/// The layers, as shares of the depth: behind the middle of the blocks, and behind three quarters of them.
const DEPTHS: [(usize, usize); 2] = [(1, 2), (3, 4)];

const HANGS_ON: &[&str] = &with_keys::<{ OF_SCORER.len() + 1 }>(OF_SCORER, &[LAYERS_KEY]);

const STATES: &str = "unnormalised, a number a dimension of each layer";

/// The family `hidden`: no pass of its own, but the states of the one that scores the text.
pub static FAMILY: Family = Family {
    name: "hidden",
    needs_reference: false,
    is_default: false,
    features: || {
        vec![
            Feature::list(
                "hidden_mean",
                STATES,
                "mean state over the rows that predict the text's tokens",
                SCORER,
                HANGS_ON,
            ),
            Feature::list("hidden_last", STATES, "state of the row that predicts the last token", SCORER, HANGS_ON),
        ]
    },
    compute: Compute::Lists {
        needs: |_| Needs { hidden: true, ..Needs::default() },
        measure: |m: &Measurement| vec![means(&m.hidden, &m.counted), lasts(&m.hidden, &m.counted)],
    },
};

/// What a table's metadata say of the columns: their layers.
pub(crate) fn depths() -> String {
    DEPTHS.map(|(part, of)| format!("{part}/{of}")).join(",")
}

/// The layers of a model of `n_layers` blocks, each once.
pub(crate) fn layers(n_layers: usize) -> Vec<usize> {
    let mut layers = DEPTHS.map(|(part, of)| n_layers * part / of).to_vec();
    layers.dedup();
    layers
}

/// The mean state over the tokens that count, layer after layer.
pub fn means(layers: &[LayerStates], counted: &[bool]) -> Vec<f64> {
    let of_layer = |layer: &LayerStates| {
        let rows: Vec<Vec<f64>> = kept(layer, counted).cloned().collect();
        let width = rows.first().map_or(0, Vec::len);
        (0..width).map(move |place| mean(rows.iter().map(|row| row[place])).unwrap_or(0.0)).collect::<Vec<f64>>()
    };
    layers.iter().flat_map(of_layer).collect()
}

/// The state that predicts the last token that counts, layer after layer.
pub fn lasts(layers: &[LayerStates], counted: &[bool]) -> Vec<f64> {
    layers.iter().flat_map(|layer| kept(layer, counted).last().cloned().unwrap_or_default()).collect()
}

fn kept<'a>(layer: &'a LayerStates, counted: &'a [bool]) -> impl Iterator<Item = &'a Vec<f64>> {
    layer.rows.iter().zip(counted).filter_map(|(row, counted)| counted.then_some(row))
}
