//! How bf16 products are worked out on a CPU that has instructions for them: by these, or where they are slow by the products of f32
//! over rounded operands. Which is faster is measured once a machine, in some milliseconds, and remembered beside the models.

use std::{
    env, fmt, fs,
    hint::black_box,
    io::Write,
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    instructions::{cpuid, instructions},
    kernel::{Bf16, Element, Left, Packed, Rounded, product},
};
use crate::files::options::cache_folder;

/// How bf16 products are worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Road {
    /// Pairs of bf16, multiplied and added by one instruction.
    Pairs,
    /// Operands rounded to bf16 and multiplied as f32.
    Rounded,
}

impl Road {
    fn named(name: &str) -> Option<Road> {
        [Road::Pairs, Road::Rounded].into_iter().find(|road| road.to_string() == name)
    }
}

impl fmt::Display for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Road::Pairs => "pairs",
            Road::Rounded => "rounded",
        })
    }
}

/// The environment's variable that names the road, `pairs` or `rounded`. Any other value says nothing.
pub const SWITCH: &str = "VERIDIFF_BF16";

/// Where a choice of road comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The environment names it.
    Environment,
    /// It was measured before, on this processor and by this version.
    Remembered,
    /// It was measured now.
    Measured,
}

/// The road that is taken, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// The road.
    pub road: Road,
    /// Where the choice comes from.
    pub source: Source,
    /// How long pairs take over how long rounded operands take, where that was measured.
    pub ratio: Option<f64>,
}

/// The road of this process; the first call may measure. Only where [`has_bf16_products`](super::has_bf16_products) there is a choice.
pub fn road() -> Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let named = env::var(SWITCH).ok().and_then(|name| Road::named(name.trim()));
        named.map_or_else(
            || match cache_folder() {
                Ok(folder) => remembered_or_measured(&folder, &processor(), ratio),
                Err(_) => Chosen::by(ratio(), Source::Measured),
            },
            |road| Chosen { road, source: Source::Environment, ratio: None },
        )
    })
}

impl Chosen {
    fn by(ratio: f64, source: Source) -> Chosen {
        // a tie goes to the pairs, which take half the memory
        Chosen { road: if ratio > 1.0 { Road::Rounded } else { Road::Pairs }, source, ratio: Some(ratio) }
    }
}

/// What is remembered of a machine.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    processor: String,
    version: String,
    /// How long pairs take over how long rounded operands take.
    pairs_over_rounded: f64,
}

/// The file beside the models.
const FILE: &str = "bf16.json";

/// The choice that the folder remembers of this processor and version; else the one that is measured, which the folder then remembers if
/// it can be written.
fn remembered_or_measured(folder: &Path, processor: &str, measure: impl FnOnce() -> f64) -> Chosen {
    let path = folder.join(FILE);
    let version = env!("CARGO_PKG_VERSION");
    let known = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Remembered>(&bytes).ok());
    let is_of_here = |known: &Remembered| known.processor == processor && known.version == version;
    if let Some(known) = known.filter(is_of_here).filter(|known| known.pairs_over_rounded.is_finite()) {
        return Chosen::by(known.pairs_over_rounded, Source::Remembered);
    }
    let chosen = Chosen::by(measure(), Source::Measured);
    if let Some(pairs_over_rounded) = chosen.ratio {
        let new = Remembered { processor: processor.into(), version: version.into(), pairs_over_rounded };
        // what cannot be remembered is measured again
        let _ = remember(folder, &path, &new);
    }
    chosen
}

fn remember(folder: &Path, path: &Path, what: &Remembered) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(serde_json::to_string(what)?.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// What names this processor: the maker's name for it, family and model, and what of it is used.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let words: Vec<u8> = (0x8000_0002..=0x8000_0004_u32)
            .map(|leaf| cpuid(leaf, 0))
            .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
            .flat_map(u32::to_le_bytes)
            .filter(|byte| *byte != 0)
            .collect();
        format!("{} {:x} {}", String::from_utf8_lossy(&words).trim(), cpuid(1, 0).eax, instructions())
    }
    #[cfg(not(target_arch = "x86_64"))]
    env::consts::ARCH.to_owned()
}

/// How long pairs take over how long rounded operands take, rounding included: the median of some turns, one road after the other.
fn ratio() -> f64 {
    const TURNS: usize = 5;
    const ROWS: usize = 96;
    const INPUTS: usize = 576;
    const OUTPUTS: usize = 256;
    fn time<E: Element<Real = f32>>(x: &[f32], packed: &Packed<E>, y: &mut [f32]) -> Duration {
        let start = Instant::now();
        product(&Left::<E>::rows(black_box(x), ROWS, INPUTS, INPUTS), packed.right(), y, OUTPUTS, false);
        black_box(y);
        start.elapsed()
    }
    let numbers = |n: usize| (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect::<Vec<f32>>();
    let (x, w) = (numbers(ROWS * INPUTS), numbers(OUTPUTS * INPUTS));
    let pairs = Packed::<Bf16>::of_rows(&w, OUTPUTS, INPUTS, INPUTS);
    let rounded = Packed::<Rounded>::of_rows(&w, OUTPUTS, INPUTS, INPUTS);
    let mut y = vec![0.0; ROWS * OUTPUTS];
    // the first turn warms caches and clocks
    let turn = |y: &mut Vec<f32>| {
        let (pairs, rounded) = (time(&x, &pairs, y), time(&x, &rounded, y));
        pairs.as_secs_f64() / rounded.as_secs_f64().max(f64::MIN_POSITIVE)
    };
    turn(&mut y);
    let mut ratios: Vec<f64> = (0..TURNS).map(|_| turn(&mut y)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[TURNS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_taken_once_a_processor() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("cache");
        let first = remembered_or_measured(&folder, "a", || 1.7);
        assert_eq!(first, Chosen { road: Road::Rounded, source: Source::Measured, ratio: Some(1.7) });
        let again = remembered_or_measured(&folder, "a", || panic!("it was measured"));
        assert_eq!(again, Chosen { source: Source::Remembered, ..first });
        let other = remembered_or_measured(&folder, "b", || 0.4);
        assert_eq!((other.road, other.source), (Road::Pairs, Source::Measured));
        // what is damaged is measured anew, and mended
        fs::write(folder.join(FILE), "{").unwrap();
        assert_eq!(remembered_or_measured(&folder, "b", || 0.5).source, Source::Measured);
        assert_eq!(remembered_or_measured(&folder, "b", || panic!("it was measured")).ratio, Some(0.5));
        // and where nothing can be written it is measured each time
        let file = folder.join(FILE);
        assert_eq!(remembered_or_measured(&file, "b", || 0.6).source, Source::Measured);
    }

    #[test]
    fn names_are_read_back() {
        for road in [Road::Pairs, Road::Rounded] {
            assert_eq!(Road::named(&road.to_string()), Some(road));
        }
        assert_eq!(Road::named("fast"), None);
        assert!(!processor().is_empty());
    }

    #[test]
    fn the_measurement_is_a_ratio_of_times() {
        let ratio = ratio();
        assert!(ratio.is_finite() && ratio > 0.0, "{ratio}");
    }
}
