//! Scores and attribution against the numbers of the reference stack (Inseq, transformers, PyTorch; `tests/fixtures`), and
//! gradients against central differences.

use crate::common::{assert_vector, cases, check_case, decoder, fixture};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use veridiff_core::{families::attribution::aggregate, measurement::TargetRule};
use veridiff_engine::{
    architectures::config::{Architecture, Config, Rope, RopeScaling},
    decoder::Decoder,
    files::weights::open_folder,
    past::{Keep, Past},
    plan::{Footprint, Lengths, Limits, Plan},
    reading::{
        attribution::{AttributedFn, Attribution, Fold, attribute, attribute_after},
        scores::{scores_after, step_scores},
    },
};

const ARCHITECTURES: [&str; 4] = ["llama_untied", "llama_tied", "qwen2", "qwen3"];

#[test]
fn tiny_models_match_the_reference() {
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F32);
        let cases = cases(&fixture(name).join("expected.json"));
        assert_eq!(cases.len(), 3, "{name}");
        cases.iter().for_each(|case| check_case(&decoder, case));
    }
}

#[test]
fn scoring_alone_gives_the_same_scores_as_attribution() {
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F32);
        for case in cases(&fixture(name).join("expected.json")) {
            let (prompt, text) = case.full_ids.split_at(case.n_source);
            let past = Past::new(&decoder, prompt, Keep::KeysValues).unwrap();
            let scores = scores_after(&decoder, &past, text).unwrap();
            let with = attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap();
            assert_eq!(scores, with.scores, "{name}");
        }
    }
}

/// One prompt for several texts: each has, to the bit, the numbers that it has with the prompt to itself, and within
/// rounding (f64) those of prompt and text in one piece.
#[test]
fn texts_that_share_a_prompt_do_not_see_each_other() {
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F64);
        let case = &cases(&fixture(name).join("expected.json"))[0];
        let (prompt, text) = case.full_ids.split_at(case.n_source);
        let shared = Past::new(&decoder, prompt, Keep::LayerInputs).unwrap();
        assert!(shared.serves(prompt, Keep::KeysValues) && !shared.serves(&prompt[1..], Keep::KeysValues));
        for text in [text, &text[1..], &text[..1], text] {
            let n_prompt = prompt.len();
            let plan = Footprint::of_decoder(&decoder)
                .plan(Lengths { n_prompt, n_response: text.len() }, true, Limits::default())
                .unwrap();
            let got = attribute_after(&decoder, &shared, text, AttributedFn::LogProb, &plan).unwrap();
            let ids = [prompt, text].concat();
            let alone = attribute(&decoder, &ids, n_prompt, AttributedFn::LogProb).unwrap();
            assert_eq!(got.scores, alone.scores);
            assert_eq!(got.matrix(Fold::L2, false), alone.matrix(Fold::L2, false));

            let visible = &ids[..ids.len() - 1];
            let rotary = decoder.rotary(visible.len()).unwrap();
            let hidden = decoder.forward(&decoder.embed(visible).unwrap(), &rotary).unwrap();
            let whole =
                step_scores(decoder.head(), &hidden.narrow(0, n_prompt - 1, text.len()).unwrap(), text).unwrap();
            assert_vector(name, &got.scores.logprob, &whole.logprob, 1e-11);
        }
    }
}

/// A bound on memory changes how many targets go together, not what they get: 1e-12 is rounding in f64.
#[test]
fn a_bound_on_memory_leaves_the_numbers_alone() {
    for name in ["llama_untied", "qwen3"] {
        let decoder = decoder(name, DType::F64);
        let case = &cases(&fixture(name).join("expected.json"))[1];
        let (prompt, text) = case.full_ids.split_at(case.n_source);
        let past = Past::new(&decoder, prompt, Keep::LayerInputs).unwrap();
        let run = |past: &Past, sizes: [usize; 3]| {
            let [targets_per_chunk, targets_per_sweep, chunks_in_flight] = sizes;
            let plan = Plan {
                targets_per_chunk,
                targets_per_sweep,
                chunks_in_flight,
                keeps_transposed: false,
                keeps_insides: false,
                parts: Vec::new(),
            };
            attribute_after(&decoder, past, text, AttributedFn::Logit, &plan).unwrap().matrix(Fold::Dot, false)
        };
        let want = run(&past, [text.len(), text.len(), 1]);
        let with_insides = Past::new(&decoder, prompt, Keep::Insides).unwrap();
        for sizes in [[text.len(), text.len(), 1], [2, 3, 1]] {
            assert_eq!(
                run(&with_insides, sizes),
                run(&past, sizes),
                "{name}: what is kept of the prompt changes a bit"
            );
        }
        let largest = want.columns.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
        for sizes in [[1, 1, 1], [2, 3, 1], [1, 4, 2], [3, text.len(), 64], [0, 0, 0]] {
            let got = run(&past, sizes);
            assert_eq!(got.columns.len(), text.len());
            for (got, want) in got.columns.iter().zip(&want.columns) {
                assert_vector(&format!("{name} {sizes:?}"), got, want, 1e-12 * largest);
            }
        }
    }
}

#[test]
fn normalised_columns_sum_to_one_and_probability_equals_log_probability() {
    let decoder = decoder("qwen3", DType::F32);
    let case = &cases(&fixture("qwen3").join("expected.json"))[0];
    let run = |f| attribute(&decoder, &case.full_ids, case.n_source, f).unwrap();
    let (p, l) = (run(AttributedFn::Probability), run(AttributedFn::LogProb));
    let normalised = p.matrix(Fold::L2, true);
    for (t, column) in normalised.columns.iter().enumerate() {
        assert_eq!(column.len(), case.n_source + t);
        let sum: f64 = column.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12, "column {t} sums to {sum}");
    }
    assert_eq!(normalised, l.matrix(Fold::L2, true));
    let (raw_p, raw_l) = (p.matrix(Fold::Dot, false), l.matrix(Fold::Dot, false));
    for (t, (a, b)) in raw_p.columns.iter().zip(&raw_l.columns).enumerate() {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b * p.scores.probability[t]).abs() <= 1e-12 * a.abs());
        }
    }
}

/// Largest entry is source's, so the larger of changed and unchanged must be it, column by column.
#[test]
fn changed_or_unchanged_holds_the_maximum() {
    let decoder = decoder("llama_tied", DType::F32);
    let case = &cases(&fixture("llama_tied").join("expected.json"))[0];
    let got = attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap();
    let matrix = got.matrix(Fold::L2, true);
    for column in &matrix.columns {
        let one = veridiff_engine::reading::attribution::Matrix {
            n_prompt: case.n_source,
            columns: vec![column.clone()],
            start: Vec::new(),
        };
        let a = aggregate(&one, &case.changed_mask, &case.diff_scope_mask, TargetRule::default());
        assert_eq!(a.source, a.changed.max(a.unchanged));
    }
}

/// Independent values, uniform in `-0.7..0.7`: a direction must not lie in the span of the others.
fn noise(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-0.7..0.7)).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).unwrap().sum_all().unwrap().to_scalar().unwrap()
}

/// Central differences in f64 along random directions confirm the block's vector-Jacobian product, for several targets at
/// once and for targets that see less than the whole sequence.
#[test]
fn block_gradients_match_central_differences() {
    let h = 1e-5;
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F64);
        // longer than one attention tile, so that tiles add up
        let s = 70;
        let width = decoder.config().hidden_size;
        let rotary = decoder.rotary(s).unwrap();
        let x = noise(&[s, width], 1);
        for (i, block) in decoder.blocks().iter().enumerate() {
            let linearized = block.linearize(&x, &rotary).unwrap();
            for visible in [s, 66, 3] {
                let dy = noise(&[2, visible, width], 2 + i as u64);
                let dx = linearized.vjp(&dy).unwrap();
                for target in 0..2 {
                    for direction in 0..3 {
                        let v = noise(&[s, width], 10 + direction);
                        let at = |step: f64| block.forward(&(&x + (&v * step).unwrap()).unwrap(), &rotary).unwrap();
                        let slope = ((at(h) - at(-h)).unwrap() / (2.0 * h)).unwrap();
                        let dy = dy.get(target).unwrap();
                        let want = dot(&slope.narrow(0, 0, visible).unwrap(), &dy);
                        let got = dot(&v.narrow(0, 0, visible).unwrap(), &dx.get(target).unwrap());
                        // truncation is O(h²) ~ 1e-10, rounding ~ 1e-16 / h of the slope
                        let bound = 1e-6 * want.abs().max(1.0);
                        assert!(
                            (got - want).abs() < bound,
                            "{name}, block {i}, {visible} rows, target {target}, direction {direction}: {got} vs {want}"
                        );
                    }
                }
            }
        }
    }
}

/// The whole model's gradient, from a token's scalar to the embedded rows, along single coordinates: `dot` summed over a
/// position is the derivative with respect to scaling that row, which is easy to take numerically.
#[test]
fn model_gradients_match_central_differences() {
    let h = 1e-5;
    for name in ARCHITECTURES {
        let decoder = decoder(name, DType::F64);
        let case = &cases(&fixture(name).join("expected.json"))[0];
        let ids = &case.full_ids[..60];
        let n = 55;
        let x = decoder.embed(&ids[..59]).unwrap();
        let rotary = decoder.rotary(59).unwrap();
        for attributed_fn in [AttributedFn::Probability, AttributedFn::Logit, AttributedFn::LogProb] {
            let got = attribute(&decoder, ids, n, attributed_fn).unwrap().matrix(Fold::Dot, false);
            for position in [0, 7, 54, 57] {
                let at = |step: f64| {
                    let mut scale = vec![1.0; 59];
                    scale[position] += step;
                    let scale = Tensor::from_vec(scale, (59, 1), &Device::Cpu).unwrap();
                    let hidden = decoder.forward(&x.broadcast_mul(&scale).unwrap(), &rotary).unwrap();
                    let scores = step_scores(decoder.head(), &hidden.narrow(0, n - 1, 5).unwrap(), &ids[n..]).unwrap();
                    match attributed_fn {
                        AttributedFn::Probability => scores.probability,
                        AttributedFn::Logit => scores.logit,
                        AttributedFn::LogProb => scores.logprob,
                    }
                };
                let (up, down) = (at(h), at(-h));
                for t in 0..5 {
                    let want = (up[t] - down[t]) / (2.0 * h);
                    let got = got.columns[t].get(position).copied().unwrap_or(0.0);
                    let bound = 1e-7 + 1e-6 * want.abs();
                    assert!(
                        (got - want).abs() < bound,
                        "{name}, {attributed_fn}, position {position}, target {t}: {got} vs {want}"
                    );
                }
            }
        }
    }
}

/// Results do not depend on how targets share chunks beyond rounding: one thread or several, the same bytes.
#[test]
fn the_same_numbers_on_one_thread_and_on_several() {
    let decoder = decoder("llama_untied", DType::F32);
    let case = &cases(&fixture("llama_untied").join("expected.json"))[1];
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| attribute(&decoder, &case.full_ids, case.n_source, AttributedFn::Probability).unwrap())
    };
    assert_eq!(run(1).matrix(Fold::L2, true), run(3).matrix(Fold::L2, true));
}

/// A Llama with a bias on every projection (`attention_bias`, `mlp_bias`), which no small published checkpoint has: scores
/// and gradients from PyTorch's autograd in f64 (`tests/reference/biased_llama.py`).
#[test]
fn biases_match_the_reference() {
    #[derive(serde::Deserialize)]
    struct Expected {
        n_prompt: usize,
        ids: Vec<u32>,
        logprob: Vec<f64>,
        logit: Vec<f64>,
        entropy: Vec<f64>,
        l2: Vec<Vec<f64>>,
        dot: Vec<Vec<f64>>,
    }
    let folder = fixture("llama_biased");
    let config = Config::from_json(&folder.join("config.json")).unwrap();
    assert!(config.qkv_bias && config.o_bias && config.mlp_bias);
    let want: Expected = serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    // transformers rounds norms, softmax and angles to f32 whatever the dtype: 6e-8 of partial sums, through two blocks and
    // back; about ten times the 6e-6 that the f64 run shows
    let bound = 5e-5;
    for dtype in [DType::F64, DType::F32] {
        let decoder = Decoder::new(&config, &open_folder(&folder, &config, dtype, &Device::Cpu).unwrap()).unwrap();
        let got = attribute(&decoder, &want.ids, want.n_prompt, AttributedFn::LogProb).unwrap();
        assert_vector("logprob", &got.scores.logprob, &want.logprob, bound);
        assert_vector("logit", &got.scores.logit, &want.logit, bound);
        assert_vector("entropy", &got.scores.entropy, &want.entropy, bound);
        for (fold, want) in [(Fold::L2, &want.l2), (Fold::Dot, &want.dot)] {
            let got = got.matrix(fold, false);
            assert_eq!(got.columns.len(), want.len());
            for (t, (got, want)) in got.columns.iter().zip(want).enumerate() {
                let largest = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert_vector(&format!("{dtype:?} {fold} {t}"), got, want, bound * largest);
            }
        }
    }
}

/// Column by column, `later` holds what `all` holds from its target number `first` on.
fn assert_same_columns(all: &Attribution, later: &Attribution, first: usize) {
    for fold in [Fold::L2, Fold::Dot] {
        let (all, later) = (all.matrix(fold, false), later.matrix(fold, false));
        assert_eq!(all.columns.len(), later.columns.len() + first);
        for (t, (a, b)) in all.columns[first..].iter().zip(&later.columns).enumerate() {
            let largest = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert!(largest > 0.0, "target {t} has no attribution");
            // f64, the same sums in blocks of other sizes
            assert_vector(&format!("{fold}, target {}", t + first), b, a, 1e-11 * largest);
        }
    }
}

/// A target's column depends on the tokens before it and on nothing else: not on how many other targets are asked for, so
/// not on how they share chunks. The lengths give chunks of every size from one target up.
#[test]
fn a_column_does_not_depend_on_the_other_targets() {
    let decoder = decoder("qwen3", DType::F64);
    let case = &cases(&fixture("qwen3").join("expected.json"))[1];
    for (len, n) in [(40, 5), (86, 71), (200, 180), (280, 261)] {
        let ids = &case.full_ids[..len];
        let all = attribute(&decoder, ids, n, AttributedFn::Probability).unwrap();
        for first in [1, 2, 7, len - n - 1] {
            let later = attribute(&decoder, ids, n + first, AttributedFn::Probability).unwrap();
            assert_same_columns(&all, &later, first);
        }
    }
}

/// Rows so wide that the gradients of all targets (50 of them, 410 MB) do not fit in one sweep over the blocks.
#[test]
fn several_sweeps_give_the_same_columns() {
    let h = 16 << 10;
    let config = Config {
        architecture: Architecture::Llama,
        hidden_size: h,
        intermediate_size: 3,
        num_hidden_layers: 1,
        num_attention_heads: 1,
        num_key_value_heads: 1,
        head_dim: 4,
        rms_norm_eps: 1e-5,
        vocab_size: 9,
        max_position_embeddings: 64,
        rope: Rope { theta: 100.0, scaling: RopeScaling::None },
        tie_word_embeddings: true,
        qkv_bias: false,
        o_bias: false,
        mlp_bias: false,
        qk_norm: false,
        sliding_window: None,
    };
    let shapes = [
        ("model.embed_tokens.weight", vec![9, h]),
        ("model.norm.weight", vec![h]),
        ("model.layers.0.input_layernorm.weight", vec![h]),
        ("model.layers.0.post_attention_layernorm.weight", vec![h]),
        ("model.layers.0.self_attn.q_proj.weight", vec![4, h]),
        ("model.layers.0.self_attn.k_proj.weight", vec![4, h]),
        ("model.layers.0.self_attn.v_proj.weight", vec![4, h]),
        ("model.layers.0.self_attn.o_proj.weight", vec![h, 4]),
        ("model.layers.0.mlp.gate_proj.weight", vec![3, h]),
        ("model.layers.0.mlp.up_proj.weight", vec![3, h]),
        ("model.layers.0.mlp.down_proj.weight", vec![h, 3]),
    ];
    let tensors = shapes.iter().enumerate().map(|(i, (name, shape))| {
        // logits are products over a long row: keep them a few units apart
        ((*name).to_owned(), (noise(shape, i as u64) * 0.1).unwrap())
    });
    let vb = VarBuilder::from_tensors(tensors.collect(), DType::F64, &Device::Cpu);
    let decoder = Decoder::new(&config, &vb).unwrap();
    let ids: Vec<u32> = (0..64).map(|i| (i * i + i / 3) % 9).collect();
    // 63 rows of 128 KiB: a sweep of 256 MiB takes 32 targets
    let all = attribute(&decoder, &ids, 14, AttributedFn::LogProb).unwrap();
    for first in [20, 32, 45] {
        let later = attribute(&decoder, &ids, 14 + first, AttributedFn::LogProb).unwrap();
        assert_same_columns(&all, &later, first);
    }
}

/// Asking for no target, or with no prompt, gives no columns and no panic.
#[test]
fn nothing_to_attribute_gives_no_columns() {
    let decoder = decoder("llama_tied", DType::F32);
    for (ids, n) in [(&[1_u32, 2, 3][..], 3), (&[1, 2, 3], 7), (&[1, 2, 3], 0), (&[], 0)] {
        let got = attribute(&decoder, ids, n, AttributedFn::Probability).unwrap();
        assert!(got.scores.is_empty() && got.matrix(Fold::L2, true).columns.is_empty());
    }
}
