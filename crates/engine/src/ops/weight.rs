//! The weight of a linear map, held the way its products want it.

use std::sync::{Arc, OnceLock};

use candle_core::{DType, Device, Result, Tensor};

use super::{
    Host, composed, cpu, has_kernels,
    kernel::{Bf16, Element, Left, Packed, Rounded, has_bf16_products, product},
    on_cpu,
    road::{Road, road},
    rows,
    stored::{Panels, StoredRows},
};

/// Rows of a table that are packed anew at once.
pub(crate) const TABLE_ROWS: usize = 4096;

/// What the operands of matrix products on the CPU are rounded to. Everything between the products is worked out in the dtype of
/// the tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// As they are: f32, or f64 in tests.
    #[default]
    Full,
    /// bf16, accumulated in f32; tensors are f32.
    Bf16,
    /// The same meaning by the products of f32, for processors that are faster so: operands are rounded to bf16 and held as f32.
    Rounded,
}

impl Precision {
    /// How a dtype that a user asks for is carried out on a device: what tensors are held in, and what products are rounded
    /// to. On a CPU bf16 is the products'; one that cannot multiply it ([`has_bf16_products`]) works in f32, and one that is slow at it
    /// takes the other [`Road`].
    pub fn of(dtype: DType, device: &Device) -> (DType, Precision) {
        match (dtype, device) {
            (DType::BF16, Device::Cpu) if !has_bf16_products() => (DType::F32, Precision::Full),
            (DType::BF16, Device::Cpu) => match road().road {
                Road::Pairs => (DType::F32, Precision::Bf16),
                Road::Rounded => (DType::F32, Precision::Rounded),
            },
            _ => (dtype, Precision::Full),
        }
    }

    /// The dtype's name for a user, given what tensors are held in.
    pub fn name(self, tensors: DType) -> &'static str {
        match self {
            Precision::Full => tensors.as_str(),
            Precision::Bf16 | Precision::Rounded => DType::BF16.as_str(),
        }
    }
}

/// A weight `[N, K]` of `x Wᵀ`: panels for the CPU kernels, else the tensor itself.
#[derive(Debug, Clone)]
pub struct Weight {
    pub(super) held: Held,
    /// Whether it stands for the transpose of the held tensor.
    transposed: bool,
    /// The transpose's panels, once they are kept.
    kept: Arc<OnceLock<Held>>,
}

#[derive(Debug, Clone)]
pub(super) enum Held {
    Tensor(Tensor),
    F32(Arc<Panels<f32>>),
    F64(Arc<Panels<f64>>),
    Bf16(Arc<Panels<Bf16>>),
    Rounded(Arc<Panels<Rounded>>),
}

/// Runs the first expression with `$e` bound to the element and `$p` to the panels, the second with the tensor.
macro_rules! with_panels {
    ($weight:expr, $e:ident, $p:ident => $kernel:expr, $w:ident => $composed:expr) => {
        match &$weight.held {
            Held::F32($p) => {
                type $e = f32;
                $kernel
            }
            Held::F64($p) => {
                type $e = f64;
                $kernel
            }
            Held::Bf16($p) => {
                type $e = Bf16;
                $kernel
            }
            Held::Rounded($p) => {
                type $e = Rounded;
                $kernel
            }
            Held::Tensor($w) => $composed,
        }
    };
}

impl Weight {
    /// Packs `w` `[N, K]` where there are kernels for its device and dtype.
    pub fn new(w: &Tensor, precision: Precision) -> Result<Self> {
        let w = w.contiguous()?;
        let (n, k) = w.dims2()?;
        macro_rules! packed {
            () => {
                Arc::new(Packed::of_rows(Host::new(&w)?.slice()?, n, k, k).into())
            };
        }
        let held = match (has_kernels(&w), w.dtype(), precision) {
            (true, DType::F32, Precision::Full) => Held::F32(packed!()),
            (true, DType::F32, Precision::Bf16) => Held::Bf16(packed!()),
            (true, DType::F32, Precision::Rounded) => Held::Rounded(packed!()),
            (true, DType::F64, _) => Held::F64(packed!()),
            _ => Held::Tensor(w),
        };
        Ok(Weight::of(held, false))
    }

    /// A weight whose panels are made of what a file holds, when they are wanted; tensors are f32 or f64 on the CPU.
    pub fn stored(rows: Arc<dyn StoredRows>, dtype: DType, precision: Precision) -> Self {
        let held = match (dtype, precision) {
            (DType::F64, _) => Held::F64(Arc::new(Panels::stored(rows))),
            (_, Precision::Full) => Held::F32(Arc::new(Panels::stored(rows))),
            (_, Precision::Bf16) => Held::Bf16(Arc::new(Panels::stored(rows))),
            (_, Precision::Rounded) => Held::Rounded(Arc::new(Panels::stored(rows))),
        };
        Weight::of(held, false)
    }

    /// A weight that takes the compositions on any device.
    #[cfg(test)]
    pub(super) fn composed(w: &Tensor) -> Self {
        Weight::of(Held::Tensor(w.clone()), false)
    }

    fn of(held: Held, transposed: bool) -> Self {
        Weight { held, transposed, kept: Arc::default() }
    }

    /// The weight of the gradient: `dy W` is the linear map of `Wᵀ`. Panels are packed anew unless they are kept, a tensor
    /// is only looked at differently.
    pub fn transposed(&self) -> Self {
        if let Some(kept) = self.kept.get() {
            return Weight::of(kept.clone(), false);
        }
        match self.pack_transposed() {
            Some(held) => Weight::of(held, false),
            None => Weight::of(self.held.clone(), !self.transposed),
        }
    }

    fn pack_transposed(&self) -> Option<Held> {
        macro_rules! transposed {
            ($panels:expr, $held:path) => {
                Some($held(Arc::new($panels.whole().transposed().into())))
            };
        }
        match &self.held {
            Held::F32(p) => transposed!(p, Held::F32),
            Held::F64(p) => transposed!(p, Held::F64),
            Held::Bf16(p) => transposed!(p, Held::Bf16),
            Held::Rounded(p) => transposed!(p, Held::Rounded),
            Held::Tensor(_) => None,
        }
    }

    /// Packs the transpose for all later [`Weight::transposed`] of this weight, which then takes twice the memory. A tensor
    /// needs none of it.
    pub fn keep_transposed(&self) {
        if self.kept.get().is_none()
            && let Some(held) = self.pack_transposed()
        {
            // another thread may have been first, with the same panels
            let _ = self.kept.set(held);
        }
    }

    /// `x Wᵀ + b` for `x` `[.., K]` and `b` `[N]`; returns `[.., N]`.
    pub fn linear(&self, x: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
        with_panels!(
            self,
            E, p => {
                let (m, k) = rows(x)?;
                if k != p.inputs() {
                    candle_core::bail!("rows of {k} elements were given to a weight that takes {}", p.inputs());
                }
                let xs = Host::new(x)?;
                let mut y = p.product(&Left::<E>::rows(xs.slice()?, m, k, k));
                if let Some(b) = b {
                    cpu::add_bias(&mut y, Host::new(b)?.slice()?);
                }
                on_cpu(y, x, p.outputs())
            },
            w => {
                if !self.transposed {
                    return composed::linear(x, w, b);
                }
                let y = composed::linear_vjp(x, w)?;
                b.map_or(Ok(y.clone()), |b| y.broadcast_add(b))
            }
        )
    }

    /// `residual + x Wᵀ + b` for `x` `[.., K]`, `residual` `[.., N]` and `b` `[N]`.
    pub fn linear_onto(&self, residual: &Tensor, x: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
        with_panels!(
            self,
            E, p => {
                let (m, k) = rows(x)?;
                if (m, k) != (rows(residual)?.0, p.inputs()) {
                    candle_core::bail!("{m} rows of {k} elements cannot be added to {:?}", residual.shape());
                }
                let xs = Host::new(x)?;
                let mut y = Host::new(residual)?.slice()?.to_vec();
                p.product_onto(&Left::<E>::rows(xs.slice()?, m, k, k), &mut y);
                if let Some(b) = b {
                    cpu::add_bias(&mut y, Host::new(b)?.slice()?);
                }
                on_cpu(y, x, p.outputs())
            },
            _w => residual + self.linear(x, b)?
        )
    }

    /// `dy W` for `dy` `[R, N]`, a few rows of a table too large to be packed anew as a whole; returns `[R, K]`.
    pub fn linear_vjp(&self, dy: &Tensor) -> Result<Tensor> {
        with_panels!(
            self,
            E, p => {
                let (m, n) = rows(dy)?;
                let ds = Host::new(dy)?;
                let ds: &[<E as Element>::Real] = ds.slice()?;
                let mut out = vec![<E as Element>::Real::default(); m * p.inputs()];
                for first in (0..n).step_by(TABLE_ROWS) {
                    let part = first..n.min(first + TABLE_ROWS);
                    let left = Left::<E>::rows(&ds[first..], m, part.len(), n);
                    product(&left, p.transposed_part(part).right(), &mut out, p.inputs(), first > 0);
                }
                on_cpu(out, dy, p.inputs())
            },
            _w => self.transposed().linear(dy, None)
        )
    }

    /// Rows of the weight as a table: `[R, K]`, rounded as the products see them.
    ///
    /// # Errors
    /// A row beyond the last.
    pub fn table_rows(&self, ids: &[u32]) -> Result<Tensor> {
        with_panels!(
            self,
            E, p => {
                let k = p.inputs();
                let mut out = vec![<E as Element>::Real::default(); ids.len() * k];
                for (&id, out) in ids.iter().zip(out.chunks_exact_mut(k.max(1))) {
                    if id as usize >= p.outputs() {
                        candle_core::bail!("token {id} has no row in a table of {}", p.outputs());
                    }
                    p.row(id as usize, out);
                }
                Tensor::from_vec(out, (ids.len(), k), &Device::Cpu)
            },
            w => w.index_select(&Tensor::new(ids, w.device())?, 0)
        )
    }
}
