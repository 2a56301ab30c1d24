//! Which of the processor's instructions the kernels use.

use std::{env, fmt, sync::OnceLock};

#[cfg(target_arch = "x86_64")]
use super::kernel::amx;

/// Vectors that the kernels are written for, from the narrowest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// Loops that the compiler vectorises.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
    /// AVX-512, and the tile registers of AMX for pairs of bf16.
    Amx,
}

impl Instructions {
    /// The names that [`SWITCH`] knows.
    const NAMES: [(&str, Instructions); 4] = [
        ("portable", Instructions::Portable),
        ("avx2", Instructions::Avx2),
        ("avx512", Instructions::Avx512),
        ("amx", Instructions::Amx),
    ];

    fn named(name: &str) -> Option<Instructions> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, instructions)| *instructions)
    }

    /// The widest that this processor has.
    fn widest() -> Instructions {
        #[cfg(target_arch = "x86_64")]
        {
            if pulp::x86::V4::try_new().is_some() {
                return if amx::is_there() { Instructions::Amx } else { Instructions::Avx512 };
            }
            if pulp::x86::V3::try_new().is_some() {
                return Instructions::Avx2;
            }
        }
        Instructions::Portable
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, known)| known == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// The environment's variable that names the widest vectors to use, for comparing them: `portable`, `avx2`, `avx512` or `amx`. What a
/// processor does not have is not used, and a name that is none of these says nothing.
pub const SWITCH: &str = "VERIDIFF_VECTORS";

/// What the processor says of itself. The function was unsafe before it was not, and both compile.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "which it is depends on the version of Rust")]
pub(super) fn cpuid(leaf: u32, sub_leaf: u32) -> std::arch::x86_64::CpuidResult {
    // SAFETY: every processor of this kind has the instruction.
    unsafe { std::arch::x86_64::__cpuid_count(leaf, sub_leaf) }
}

/// The vectors that the kernels use in this process: the widest that there are, and none wider than [`SWITCH`] says.
pub fn instructions() -> Instructions {
    static CHOSEN: OnceLock<Instructions> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let most = env::var(SWITCH).ok().and_then(|name| Instructions::named(name.trim()));
        most.map_or(Instructions::widest(), |most| most.min(Instructions::widest()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_and_others_say_nothing() {
        for (name, instructions) in Instructions::NAMES {
            assert_eq!(Instructions::named(name), Some(instructions));
            assert_eq!(instructions.to_string(), name);
        }
        assert_eq!(Instructions::named("AVX2"), None);
        assert!(instructions() <= Instructions::widest());
    }
}
