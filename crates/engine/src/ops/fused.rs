//! Kernels of our own for CUDA devices (`fused.cu`): the passes over the targets' gradients that candle's operations would
//! make in several, each reading and writing all of `[B, s, ..]`.
//!
//! The source is compiled by NVRTC, and every kernel is compared with the composition that it stands for, when a device is
//! opened (`fused_check`): where one cannot be compiled or differs, a warning says so and the compositions are used.

use std::{
    collections::HashMap,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use candle_core::{
    CpuStorage, CudaDevice, CudaStorage, CustomOp1, D, DType, Device, Layout, Result, Shape, Storage, Tensor,
    backend::BackendStorage,
    cuda_backend::{
        CudaDType, WrapErr,
        cudarc::{
            driver::{CudaView, DeviceRepr, LaunchConfig, PushKernelArg},
            nvrtc,
        },
    },
};

const SOURCE: &str = include_str!("fused.cu");
const MODULE: &str = "veridiff_fused";

static ENABLED: AtomicBool = AtomicBool::new(true);

/// See [`super::use_fused_kernels`].
pub(super) fn enable(on: bool) {
    ENABLED.store(on, Ordering::Relaxed);
}

/// What was found when the kernels were compared on a device, by its number: nothing, or why they are not used there.
static CHECKED: Mutex<Option<HashMap<usize, Option<String>>>> = Mutex::new(None);

/// See [`super::fused_kernels_problem`].
pub(super) fn problem() -> Option<String> {
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.as_ref()?.values().find_map(Clone::clone)
}

/// Notes what the comparison on a device, by its number, found.
pub(super) fn note_check(ordinal: usize, problem: Option<String>) {
    CHECKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(ordinal, problem);
}

/// The kernels for tensors like `x`; none on other devices, for other dtypes, or where they did not pass their check.
pub(super) fn kernels(x: &Tensor) -> Result<Option<Kernels>> {
    let Device::Cuda(device) = x.device() else { return Ok(None) };
    if !matches!(x.dtype(), DType::F32 | DType::BF16 | DType::F16) || !ENABLED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let ordinal = device.cuda_stream().context().ordinal();
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    let passed = checked.as_ref().and_then(|found| found.get(&ordinal)).is_some_and(Option::is_none);
    Ok(passed.then_some(Kernels))
}

/// The source as PTX, compiled once.
fn ptx() -> Result<&'static str> {
    static PTX: OnceLock<std::result::Result<String, String>> = OnceLock::new();
    let compile = || {
        let options = nvrtc::CompileOptions { name: Some("fused.cu".to_owned()), ..Default::default() };
        let ptx = nvrtc::compile_ptx_with_opts(SOURCE, options).map_err(|e| format!("{e:?}"))?;
        Ok(ptx.to_src())
    };
    match PTX.get_or_init(compile) {
        Ok(ptx) => Ok(ptx),
        Err(problem) => candle_core::bail!("the fused kernels cannot be compiled: {problem}"),
    }
}

#[derive(Clone, Copy)]
enum Scalar {
    U32(u32),
    F32(f32),
}

fn count(n: usize) -> Result<Scalar> {
    match u32::try_from(n) {
        Ok(n) => Ok(Scalar::U32(n)),
        Err(_) => candle_core::bail!("{n} rows or columns are more than a kernel can count"),
    }
}

/// One launch: a block for each row of the result. The kernel's arguments are the inputs, the result, then the scalars.
struct Launch<'a> {
    name: &'static str,
    /// The inputs after the first, which is the tensor the operation is applied to.
    others: &'a [&'a Tensor],
    scalars: &'a [Scalar],
    /// Columns of a row, from which follows the number of threads.
    columns: usize,
    shape: Shape,
}

impl Launch<'_> {
    fn run<T: CudaDType + DeviceRepr>(&self, first: &CudaStorage, layout: &Layout, dtype: &str) -> Result<CudaStorage> {
        fn view<'a, T: CudaDType>(storage: &'a CudaStorage, layout: &Layout) -> Result<CudaView<'a, T>> {
            match layout.contiguous_offsets() {
                Some((start, end)) => Ok(storage.as_cuda_slice::<T>()?.slice(start..end)),
                None => candle_core::bail!("a kernel was given a tensor that is not contiguous: {layout:?}"),
            }
        }
        let device: CudaDevice = first.device().clone();
        let function = device.get_or_load_custom_func(&format!("{}_{dtype}", self.name), MODULE, ptx()?)?;
        let guards: Vec<_> = self.others.iter().map(|t| t.storage_and_layout()).collect();
        let mut views = vec![view::<T>(first, layout)?];
        for (storage, layout) in &guards {
            match &**storage {
                Storage::Cuda(storage) => views.push(view::<T>(storage, layout)?),
                _ => candle_core::bail!("a CUDA kernel was given a tensor of another device"),
            }
        }
        let elements = self.shape.elem_count();
        let Scalar::U32(rows) = count(elements / self.shape.dims().last().copied().unwrap_or(1).max(1))? else {
            candle_core::bail!("a count is an integer")
        };
        // eight columns a thread, in whole warps
        let threads = self.columns.div_ceil(8).next_multiple_of(32).clamp(32, 512) as u32;
        let config = LaunchConfig { grid_dim: (rows, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel writes every element of every row
        let mut out = unsafe { device.alloc::<T>(elements)? };
        let mut launch = function.builder();
        for view in &views {
            launch.arg(view);
        }
        launch.arg(&mut out);
        for scalar in self.scalars {
            match scalar {
                Scalar::U32(v) => launch.arg(v),
                Scalar::F32(v) => launch.arg(v),
            };
        }
        // SAFETY: the arguments are those of the kernel `name` in fused.cu, and each method of `Kernels` checks the shapes
        unsafe { launch.launch(config) }.w()?;
        Ok(CudaStorage::wrap_cuda_slice(out, device))
    }
}

impl CustomOp1 for Launch<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        candle_core::bail!("`{}` is a CUDA kernel", self.name)
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let out = match storage.dtype() {
            DType::F32 => self.run::<f32>(storage, layout, "f32"),
            DType::BF16 => self.run::<half::bf16>(storage, layout, "bf16"),
            DType::F16 => self.run::<half::f16>(storage, layout, "f16"),
            other => candle_core::bail!("`{}` has no kernel for {other:?}", self.name),
        };
        Ok((out?, self.shape.clone()))
    }
}

fn expect(what: &'static str, got: &Tensor, want: &[usize]) -> Result<()> {
    if got.dims() == want {
        return Ok(());
    }
    candle_core::bail!("{what} has shape {:?}, expected {want:?}", got.dims())
}

/// Leave to launch: the kernels of a device passed their check.
pub(super) struct Kernels;

impl Kernels {
    /// As `composed::plain_rms_norm_vjp`.
    pub(super) fn rms_norm_vjp(
        &self,
        x: &Tensor,
        w: &Tensor,
        eps: f64,
        dy: &Tensor,
        residual: Option<&Tensor>,
    ) -> Result<Tensor> {
        let width = x.dim(D::Minus1)?;
        let rows = x.elem_count() / width.max(1);
        let w_rows = w.elem_count() / width.max(1);
        // with targets before the input's rows, or with each row a target of its own
        if !dy.dims().ends_with(x.dims()) {
            candle_core::bail!("the input of a norm has shape {:?} for gradients of {:?}", x.dims(), dy.dims());
        }
        expect("the residual of a norm", residual.unwrap_or(dy), dy.dims())?;
        if w.dims() != &x.dims()[x.rank() - w.rank()..] {
            candle_core::bail!("a norm's weight has shape {:?} for an input of {:?}", w.dims(), x.dims());
        }
        let (x, w, dy) = (x.contiguous()?, w.contiguous()?, dy.contiguous()?);
        let added = match residual {
            Some(residual) => residual.contiguous()?,
            None => dy.clone(),
        };
        let scalars = [
            count(rows)?,
            count(width)?,
            count(w_rows)?,
            Scalar::F32(eps as f32),
            Scalar::U32(residual.is_some().into()),
        ];
        let launch = Launch {
            name: "rms_norm_vjp",
            others: &[&w, &dy, &added],
            scalars: &scalars,
            columns: width,
            shape: dy.shape().clone(),
        };
        x.apply_op1_no_bwd(&launch)
    }

    /// As `composed::rows_mul`.
    pub(super) fn rows_mul(&self, shared: &Tensor, rows: &Tensor) -> Result<Tensor> {
        let (_, s, width) = rows.dims3()?;
        expect("what all targets' rows are multiplied by", shared, &[s, width])?;
        let launch = Launch {
            name: "rows_mul",
            others: &[&rows.contiguous()?],
            scalars: &[count(s)?, count(width)?],
            columns: width,
            shape: rows.shape().clone(),
        };
        shared.contiguous()?.apply_op1_no_bwd(&launch)
    }

    /// As `composed::plain_causal_softmax`.
    pub(super) fn causal_softmax(&self, scores: &Tensor, scale: f64) -> Result<Tensor> {
        let (_, s, n) = scores.dims3()?;
        if s > n {
            candle_core::bail!("attention scores have shape {:?}: more queries than keys", scores.dims());
        }
        let launch = Launch {
            name: "causal_softmax",
            others: &[],
            scalars: &[count(s)?, count(n)?, Scalar::F32(scale as f32)],
            columns: n,
            shape: scores.shape().clone(),
        };
        scores.contiguous()?.apply_op1_no_bwd(&launch)
    }

    /// As `composed::plain_softmax_vjp`, which takes the row sums from the outputs.
    pub(super) fn softmax_vjp(&self, d_p: &Tensor, p: &Tensor, scale: f64) -> Result<Tensor> {
        let (_, n, s, _) = d_p.dims4()?;
        expect("attention probabilities", p, &[n, s, s])?;
        expect("their gradient", d_p, &[d_p.dim(0)?, n, s, s])?;
        let launch = Launch {
            name: "softmax_vjp",
            others: &[&p.contiguous()?],
            scalars: &[count(s)?, count(n)?, Scalar::F32(scale as f32)],
            columns: s,
            shape: d_p.shape().clone(),
        };
        d_p.contiguous()?.apply_op1_no_bwd(&launch)
    }
}
