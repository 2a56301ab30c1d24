// Tests crates/engine/src/ops/fused.cu without a GPU: the kernels are compiled as C++, a block's threads run as threads, and the
// results are compared with plain loops in double.
//
//     c++ -std=c++20 -O1 -pthread scripts/cuda/fused_test.cpp -o /tmp/fused_test && /tmp/fused_test
//
// What this cannot see: warp shuffles and shared memory (the block's reduction is replaced), half precision's conversion
// instructions, and speed. The program's own check at the first use of a device sees those (fused.rs).

#include <barrier>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#define FUSED_ON_HOST
#define __device__
#define LAUNCHED void
#define INFINITY_F std::numeric_limits<float>::infinity()

struct Index {
    unsigned x;
};
static thread_local Index blockIdx, threadIdx;
static Index blockDim;
static unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
static float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }

static std::barrier<> *together;
static std::vector<float> lanes;
template <typename Op> float block_reduce(float v, float identity, Op op) {
    lanes[threadIdx.x] = v;
    together->arrive_and_wait();
    for (float other : lanes) identity = op(identity, other);
    together->arrive_and_wait();
    return identity;
}

#include "../../crates/engine/src/ops/fused.cu"

static void launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel) {
    std::barrier<> barrier(threads);
    together = &barrier;
    lanes.assign(threads, 0.0f);
    blockDim.x = threads;
    std::vector<std::jthread> running;
    for (unsigned t = 0; t < threads; t++) {
        running.emplace_back([=, &kernel] {
            threadIdx.x = t;
            for (unsigned b = 0; b < blocks; b++) {
                blockIdx.x = b;
                kernel();
            }
        });
    }
}

static std::mt19937 generator(7);
template <typename T> std::vector<T> noise(size_t n) {
    std::uniform_real_distribution<float> uniform(-1.5f, 1.5f);
    std::vector<T> v(n);
    for (T &x : v) narrow(uniform(generator), x);
    return v;
}
// Results start as NaN: an element that no thread writes fails the comparison.
template <typename T> std::vector<T> unwritten(size_t n) {
    std::vector<T> v(n);
    for (T &x : v) narrow(std::nanf(""), x);
    return v;
}

static int failures = 0;
template <typename T>
void compare(const char *what, unsigned threads, const std::vector<T> &got, const std::vector<double> &want) {
    // f32: some hundred terms of 6e-8 each; bf16: its result is rounded once, by 2^-9
    double bound = std::is_same_v<T, float> ? 2e-6 : 4e-3, largest = 0, worst = 0;
    for (double w : want) largest = std::max(largest, std::fabs(w));
    for (size_t i = 0; i < want.size(); i++) {
        double error = std::fabs(widen(got[i]) - want[i]) / largest;
        worst = error >= 0 ? std::max(worst, error) : INFINITY_F; // a NaN is not
    }
    bool good = worst <= bound && got.size() == want.size() && largest > 0;
    failures += !good;
    std::printf("%-18s %-4s %4u threads: off by %.1e of the largest, bound %.0e%s\n", what,
                std::is_same_v<T, float> ? "f32" : "bf16", threads, worst, bound, good ? "" : "  WRONG");
}

template <typename T> void test(unsigned threads, unsigned s, unsigned b, unsigned width) {
    {
        auto shared = noise<T>(s * width), rows = noise<T>(b * s * width), out = unwritten<T>(b * s * width);
        launch(b * s, threads, [&] { rows_mul<T>(shared.data(), rows.data(), out.data(), s, width); });
        std::vector<double> want;
        for (unsigned i = 0; i < b * s * width; i++)
            want.push_back((double)widen(rows[i]) * widen(shared[i % (s * width)]));
        compare("rows_mul", threads, out, want);
    }
    for (unsigned w_rows : {1u, 3u}) {
        for (unsigned add : {0u, 1u}) {
            unsigned rows = s * w_rows;
            auto x = noise<T>(rows * width), w = noise<T>(w_rows * width), dy = noise<T>(b * rows * width);
            auto residual = noise<T>(b * rows * width), out = unwritten<T>(b * rows * width);
            double eps = 0.1;
            launch(b * rows, threads, [&] {
                rms_norm_vjp<T>(x.data(), w.data(), dy.data(), residual.data(), out.data(), rows, width, w_rows, eps, add);
            });
            std::vector<double> want;
            for (unsigned r = 0; r < b * rows; r++) {
                const T *xr = &x[r % rows * width], *wr = &w[r % rows % w_rows * width], *dr = &dy[r * width];
                double squares = 0, along = 0;
                for (unsigned c = 0; c < width; c++) {
                    squares += (double)widen(xr[c]) * widen(xr[c]);
                    along += (double)widen(xr[c]) * widen(wr[c]) * widen(dr[c]);
                }
                double inverse = 1 / std::sqrt(squares / width + eps);
                for (unsigned c = 0; c < width; c++)
                    want.push_back(widen(dr[c]) * widen(wr[c]) * inverse
                                   - widen(xr[c]) * along * std::pow(inverse, 3) / width
                                   + (add ? widen(residual[r * width + c]) : 0.0));
            }
            compare("rms_norm_vjp", threads, out, want);
        }
    }
    unsigned n = 3;
    double scale = 0.7;
    // alone, and behind 11 earlier rows
    std::vector<T> p;
    for (unsigned columns : {s + 11, s}) {
        auto scores = noise<T>(n * s * columns);
        p = unwritten<T>(n * s * columns);
        launch(n * s, threads, [&] { causal_softmax<T>(scores.data(), p.data(), s, columns, scale); });
        std::vector<double> softmax;
        for (unsigned r = 0; r < n * s; r++) {
            unsigned last = columns - s + r % s;
            double total = 0;
            for (unsigned j = 0; j <= last; j++) total += std::exp(scale * widen(scores[r * columns + j]));
            for (unsigned j = 0; j < columns; j++)
                softmax.push_back(j <= last ? std::exp(scale * widen(scores[r * columns + j])) / total : 0);
        }
        compare("causal_softmax", threads, p, softmax);
    }

    auto d_p = noise<T>(b * n * s * s), out = unwritten<T>(b * n * s * s);
    launch(b * n * s, threads, [&] { softmax_vjp<T>(d_p.data(), p.data(), out.data(), s, n, scale); });
    std::vector<double> want;
    for (unsigned r = 0; r < b * n * s; r++) {
        const T *pr = &p[r % (n * s) * s], *dr = &d_p[r * s];
        double along = 0;
        for (unsigned j = 0; j < s; j++) along += (double)widen(pr[j]) * widen(dr[j]);
        for (unsigned j = 0; j < s; j++) want.push_back(scale * widen(pr[j]) * (widen(dr[j]) - along));
    }
    compare("softmax_vjp", threads, out, want);
}

int main() {
    // widths that fill packs of 16 bytes and widths that do not; rows longer and shorter than what threads keep (16 each)
    for (unsigned threads : {2u, 5u}) {
        test<float>(threads, 37, 2, 40);
        test<float>(threads, 97, 2, 37);
        test<bf16>(threads, 37, 2, 40);
        test<bf16>(threads, 97, 2, 37);
    }
    std::printf(failures ? "%d WRONG\n" : "all good\n", failures);
    return failures != 0;
}
