//! Element-wise arithmetic for the CPU kernels, compiled for the widest vectors the processor has.

use std::sync::OnceLock;

use candle_core::WithDType;

#[cfg(target_arch = "x86_64")]
use super::instructions::{Instructions, instructions};

/// The float types the CPU kernels are written for: f32 to work in, f64 to check it against.
pub(crate) trait Real: WithDType + num_traits::Float + std::iter::Sum + Default {
    /// e^x, vectorisable; exactly zero far below the smallest normal number.
    fn exp_fast(self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn exp_fast(self) -> Self {
        self.exp()
    }
}

impl Real for f32 {
    /// Cody-Waite reduction to |r| <= ln2/2 and a degree-7 Taylor polynomial: within 2 ulp of the true value over the
    /// normal range. The library function is a scalar call, which costs as much as the matrix products around it.
    #[inline(always)]
    fn exp_fast(self) -> Self {
        const LN2_HI: f32 = 0.693_145_75;
        const LN2_LO: f32 = 1.428_606_8e-6;
        // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer without a call.
        const ROUND: f32 = 12_582_912.0;
        let x = if self > 88.3 { 88.3 } else { self };
        let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
        let r = (x - n * LN2_HI) - n * LN2_LO;
        let p = 1.0 / 5040.0;
        let p = p * r + 1.0 / 720.0;
        let p = p * r + 1.0 / 120.0;
        let p = p * r + 1.0 / 24.0;
        let p = p * r + 1.0 / 6.0;
        let p = p * r + 0.5;
        let p = p * r + 1.0;
        let p = p * r + 1.0;
        let scale = f32::from_bits((((n as i32) + 127) << 23) as u32);
        if x < -87.0 { 0.0 } else { p * scale }
    }
}

/// Runs `f` compiled for the widest vector unit found at run time; `f` must inline what it calls.
#[inline(always)]
pub(crate) fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    static ARCH: OnceLock<pulp::Arch> = OnceLock::new();
    ARCH.get_or_init(arch).dispatch(f)
}

/// The vectors of [`instructions`].
fn arch() -> pulp::Arch {
    #[cfg(target_arch = "x86_64")]
    match instructions() {
        Instructions::Avx512 | Instructions::Amx => {}
        Instructions::Avx2 => return pulp::x86::V3::try_new().map_or(pulp::Arch::Scalar, pulp::Arch::V3),
        Instructions::Portable => return pulp::Arch::Scalar,
    }
    pulp::Arch::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_exp_is_within_two_ulp() {
        let mut worst: f64 = 0.0;
        for i in -870_000..=880_000 {
            let x = i as f32 * 1e-4;
            let want = f64::from(x).exp();
            worst = worst.max((f64::from(x.exp_fast()) - want).abs() / want);
        }
        assert!(worst < 2.5e-7, "relative error {worst:e}");
        assert_eq!(f32::NEG_INFINITY.exp_fast(), 0.0);
        assert_eq!((-1e4_f32).exp_fast(), 0.0);
        assert!(1e4_f32.exp_fast() > 1e38);
        assert!(f32::NAN.exp_fast().is_nan());
    }
}
