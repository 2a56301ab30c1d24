// Passes over the targets' gradients that candle would make in several: one kernel each, compiled at run time by NVRTC
// (fused.rs). Inputs and results are f32, bf16 or f16; arithmetic is f32. All tensors are contiguous except where a row
// stride is given. `s` rows are shared by the targets of a chunk: row r of `[B, s, ..]` uses shared row r % s.
//
// One block works on one row; `blockDim.x` threads stride over its columns. Tested off the GPU by fused_test.cpp, which
// compiles this file as C++ and runs the threads of a block as threads.

#ifndef FUSED_ON_HOST
#define LAUNCHED extern "C" __global__ void
#define INFINITY_F __int_as_float(0x7f800000)

// Sum and maximum over the block; every thread gets the result. blockDim.x is a multiple of 32.
template <typename Op> __device__ float block_reduce(float v, float identity, Op op) {
    __shared__ float warps[32];
    for (int offset = 16; offset > 0; offset /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, offset));
    __syncthreads(); // `warps` may still be read by an earlier reduction
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : identity;
    for (int offset = 16; offset > 0; offset /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}
#endif

struct bf16 {
    unsigned short bits;
};
struct f16 {
    unsigned short bits;
};

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ inline void narrow(float x, float &out) { out = x; }
__device__ inline void narrow(float x, bf16 &out) {
    unsigned u = __float_as_uint(x);
    // to nearest, ties to even; a NaN stays one
    out.bits = x == x ? (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16) : (unsigned short)0x7fffu;
}
#ifndef FUSED_ON_HOST
__device__ inline float widen(f16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
__device__ inline void narrow(float x, f16 &out) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x)); }
#endif

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
    __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
__device__ inline float block_sum(float v) { return block_reduce(v, 0.0f, Add()); }
__device__ inline float block_max(float v) { return block_reduce(v, -INFINITY_F, Max()); }

// 16 bytes of a row: one memory access.
template <typename T> struct alignas(16) Pack {
    static const unsigned N = 16 / sizeof(T);
    T v[N];
};

template <typename T> __device__ inline bool packed(unsigned width, const void *a, const void *b, const void *c) {
    return width % Pack<T>::N == 0 && ((size_t)a | (size_t)b | (size_t)c) % 16 == 0;
}

// out[b, t, :] = shared[t, :] ∘ rows[b, t, :].
template <typename T> __device__ void rows_mul(const T *shared, const T *rows, T *out, unsigned s, unsigned width) {
    size_t row = blockIdx.x;
    bool in_packs = packed<T>(width, shared, rows, out);
    shared += row % s * width;
    rows += row * width;
    out += row * width;
    if (in_packs) {
        typedef Pack<T> P;
        for (unsigned c = threadIdx.x * P::N; c < width; c += blockDim.x * P::N) {
            P a = *(const P *)(shared + c), b = *(const P *)(rows + c), product;
#pragma unroll
            for (unsigned i = 0; i < P::N; i++) narrow(widen(a.v[i]) * widen(b.v[i]), product.v[i]);
            *(P *)(out + c) = product;
        }
    } else {
        for (unsigned c = threadIdx.x; c < width; c += blockDim.x) narrow(widen(shared[c]) * widen(rows[c]), out[c]);
    }
}

// out = residual + gradient of rms_norm at x[t, :] for dy[b, t, :]; without a residual where `add` is 0. `w` has
// `w_rows` rows, and shared row t uses row t % w_rows: one weight for all rows, or one for each head.
template <typename T>
__device__ void rms_norm_vjp(const T *x, const T *w, const T *dy, const T *residual, T *out, unsigned s, unsigned width,
                             unsigned w_rows, float eps, unsigned add) {
    size_t row = blockIdx.x, shared = row % s;
    x += shared * width;
    w += shared % w_rows * width;
    dy += row * width;
    residual += row * width;
    out += row * width;
    float squares = 0.0f, along = 0.0f;
#pragma unroll 4
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
        float xc = widen(x[c]);
        squares += xc * xc;
        along += widen(dy[c]) * widen(w[c]) * xc;
    }
    squares = block_sum(squares);
    along = block_sum(along);
    float inverse = 1.0f / sqrtf(squares / width + eps);
    float back = along * inverse * inverse * inverse / width;
#pragma unroll 4
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
        float g = widen(dy[c]) * widen(w[c]) * inverse - widen(x[c]) * back;
        narrow(add ? g + widen(residual[c]) : g, out[c]);
    }
}

// Columns that a thread keeps in registers between the two passes over a row.
static const unsigned KEPT = 16;

// out[h, i, :] = softmax of scale * scores[h, i, 0..seen], zero behind, where row i of s sees all but s - 1 - i of its n
// columns.
template <typename T> __device__ void causal_softmax(const T *scores, T *out, unsigned s, unsigned n, float scale) {
    size_t row = blockIdx.x;
    unsigned seen = n - s + row % s + 1;
    scores += row * n;
    out += row * n;
    float top = -INFINITY_F;
    for (unsigned j = threadIdx.x; j < seen; j += blockDim.x) {
        float z = widen(scores[j]) * scale;
        top = z > top ? z : top;
    }
    top = block_max(top);
    float total = 0.0f;
    for (unsigned j = threadIdx.x; j < seen; j += blockDim.x) total += expf(widen(scores[j]) * scale - top);
    total = 1.0f / block_sum(total);
    for (unsigned j = threadIdx.x; j < n; j += blockDim.x) {
        narrow(j < seen ? expf(widen(scores[j]) * scale - top) * total : 0.0f, out[j]);
    }
}

// out[b, h, i, :] = scale * p[h, i, :] ∘ (d_p[b, h, i, :] - <p[h, i, :], d_p[b, h, i, :]>); p is zero above the diagonal
// and is not read there, nor is d_p. d_p and p hold n heads of s rows.
template <typename T>
__device__ void softmax_vjp(const T *d_p, const T *p, T *out, unsigned s, unsigned n, float scale) {
    size_t row = blockIdx.x;
    unsigned seen = row % s + 1;
    d_p += row * s;
    out += row * s;
    p += row % ((size_t)n * s) * s;
    float weight[KEPT], slope[KEPT], along = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        unsigned j = threadIdx.x + k * blockDim.x;
        weight[k] = j < seen ? widen(p[j]) : 0.0f;
        slope[k] = j < seen ? widen(d_p[j]) : 0.0f;
        along += weight[k] * slope[k];
    }
    for (unsigned j = threadIdx.x + KEPT * blockDim.x; j < seen; j += blockDim.x) along += widen(p[j]) * widen(d_p[j]);
    along = block_sum(along);
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        unsigned j = threadIdx.x + k * blockDim.x;
        if (j < s) narrow(scale * weight[k] * (slope[k] - along), out[j]);
    }
    for (unsigned j = threadIdx.x + KEPT * blockDim.x; j < s; j += blockDim.x) {
        narrow(j < seen ? scale * widen(p[j]) * (widen(d_p[j]) - along) : 0.0f, out[j]);
    }
}

#define KERNELS(T)                                                                                                     \
    LAUNCHED rows_mul_##T(const T *shared, const T *rows, T *out, unsigned s, unsigned width) {                        \
        rows_mul<T>(shared, rows, out, s, width);                                                                      \
    }                                                                                                                  \
    LAUNCHED rms_norm_vjp_##T(const T *x, const T *w, const T *dy, const T *residual, T *out, unsigned s,              \
                              unsigned width, unsigned w_rows, float eps, unsigned add) {                              \
        rms_norm_vjp<T>(x, w, dy, residual, out, s, width, w_rows, eps, add);                                          \
    }                                                                                                                  \
    LAUNCHED causal_softmax_##T(const T *scores, T *out, unsigned s, unsigned n, float scale) {                        \
        causal_softmax<T>(scores, out, s, n, scale);                                                                   \
    }                                                                                                                  \
    LAUNCHED softmax_vjp_##T(const T *d_p, const T *p, T *out, unsigned s, unsigned n, float scale) {                  \
        softmax_vjp<T>(d_p, p, out, s, n, scale);                                                                      \
    }

typedef float f32;
KERNELS(f32)
KERNELS(bf16)
#ifndef FUSED_ON_HOST
KERNELS(f16)
#endif
