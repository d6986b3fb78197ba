/*
 * move_level.c -- moves of memory: transposing, and storing past the caches.
 */
#include "kernel/move/convert_level.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

/* ---- Past the caches ---- */

/* Whole lines of 64 bytes bypass the caches; the rest is copied as usual. The
 * fence costs more than a line, and so is separate. */
void CFX_STREAM(void *y_, const void *x_, size_t bytes)
{
    char *y = y_;
    const char *x = x_;
    size_t head = -(uintptr_t)y & 63;

    if (head && bytes) {
        head = head < bytes ? head : bytes;
        memcpy(y, x, head);
        y += head;
        x += head;
        bytes -= head;
    }
#if defined(__AVX512F__)
    for (; bytes >= 64; bytes -= 64, y += 64, x += 64)
        _mm512_stream_si512((void *)y, _mm512_loadu_si512(x));
#elif defined(__SSE2__)
    for (; bytes >= 16; bytes -= 16, y += 16, x += 16)
        _mm_stream_si128((void *)y, _mm_loadu_si128((const void *)x));
#endif
    if (bytes)
        memcpy(y, x, bytes);
#if defined(__SSE2__)
    if (!y_)
        _mm_sfence();
#endif
}

/* ---- Transposing ---- */

/*
 * A tile is a line of 64 bytes wide and as many rows high. It is transposed in
 * squares of 16 bytes, in registers, into a buffer, so that each line of memory
 * is read once and written once as a whole; the lines after next are asked for
 * meanwhile, since no processor foresees so many rows at once.
 *
 * A square of W rows is transposed by interleaving row i with row i + W / 2,
 * log2(W) times over.
 */
#ifdef CFX_SHUFFLE
#define LOW_1 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_2 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 2
#define HIGH_8 1, 3

#define SQUARE(size, T)                                                       \
    typedef T vector_##size __attribute__((vector_size(16)));                 \
    static void square_##size(T *y, int64_t sy, const T *x, int64_t sx)       \
    {                                                                         \
        enum { W = 16 / size };                                               \
        vector_##size a[W], b[W];                                             \
        for (int i = 0; i < W; i++)                                           \
            memcpy(&a[i], x + i * sx, 16);                                    \
        for (int step = 1; step < W; step *= 2) {                             \
            for (int i = 0; i < W / 2; i++) {                                 \
                b[2 * i] = CFX_SHUFFLE(a[i], a[i + W / 2], LOW_##size);       \
                b[2 * i + 1] = CFX_SHUFFLE(a[i], a[i + W / 2], HIGH_##size);  \
            }                                                                 \
            for (int i = 0; i < W; i++)                                       \
                a[i] = b[i];                                                  \
        }                                                                     \
        for (int i = 0; i < W; i++)                                           \
            memcpy(y + i * sy, &a[i], 16);                                    \
    }
#else
#define SQUARE(size, T)                                                       \
    static void square_##size(T *y, int64_t sy, const T *x, int64_t sx)       \
    {                                                                         \
        enum { W = 16 / size };                                               \
        for (int j = 0; j < W; j++)                                           \
            for (int i = 0; i < W; i++)                                       \
                y[j * sy + i] = x[i * sx + j];                                \
    }
#endif

#define TRANSPOSE(size, T)                                                    \
    SQUARE(size, T)                                                           \
    static void tile_##size(T *y, int64_t sy, const T *x, int64_t sx)         \
    {                                                                         \
        enum { W = 16 / size, E = 64 / size };                                \
        _Alignas(64) T tile[E * E];                                           \
        for (int i = 0; i < E; i++)                                           \
            CFX_PREFETCH(x + i * sx + 2 * E);                                 \
        for (int i = 0; i < E; i += W)                                        \
            for (int j = 0; j < E; j += W)                                    \
                square_##size(tile + j * E + i, E, x + i * sx + j, sx);       \
        for (int j = 0; j < E; j++)                                           \
            memcpy(y + j * sy, tile + j * E, 64);                             \
    }                                                                         \
    static void edge_##size(T *y, int64_t sy, const T *x, int64_t sx,         \
                            int64_t rows, int64_t cols)                       \
    {                                                                         \
        for (int64_t j = 0; j < cols; j++)                                    \
            for (int64_t i = 0; i < rows; i++)                                \
                y[j * sy + i] = x[i * sx + j];                                \
    }                                                                         \
    CFX_FORCE_INLINE void interleave_##size(T *y, const T *x, int64_t sx,     \
                                            const int rows, int64_t cols)     \
    {                                                                         \
        CFX_SIMD                                                              \
        for (int64_t j = 0; j < cols; j++)                                    \
            for (int i = 0; i < rows; i++)                                    \
                y[j * rows + i] = x[i * sx + j];                              \
    }                                                                         \
    static void transpose_##size(void *y_, int64_t sy, const void *x_,        \
                                 int64_t sx, int64_t rows, int64_t cols)      \
    {                                                                         \
        enum { E = 64 / size };                                               \
        T *y = y_;                                                            \
        const T *x = x_;                                                      \
        int64_t whole = rows - rows % E, j;                                   \
        for (int few = 2; few <= 4; few++)                                    \
            if (sy == rows && rows == few) {                                  \
                interleave_##size(y, x, sx, few, cols);                       \
                return;                                                       \
            }                                                                 \
        for (j = 0; j + E <= cols; j += E) {                                  \
            for (int64_t i = 0; i < whole; i += E)                            \
                tile_##size(y + j * sy + i, sy, x + i * sx + j, sx);          \
            edge_##size(y + j * sy + whole, sy, x + whole * sx + j, sx,       \
                        rows - whole, E);                                     \
        }                                                                     \
        edge_##size(y + j * sy, sy, x + j, sx, rows, cols - j);               \
    }

TRANSPOSE(1, uint8_t)
TRANSPOSE(2, uint16_t)
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)

/* An element of 16 bytes is a square by itself. */
static void transpose_16(void *y_, int64_t sy, const void *x_, int64_t sx,
                         int64_t rows, int64_t cols)
{
    enum { E = 4 };
    double _Complex *y = y_;
    const double _Complex *x = x_;

    for (int64_t j = 0; j < cols; j += E)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = j; k < cols && k < j + E; k++)
                y[k * sy + i] = x[i * sx + k];
}

cfx_transpose_fn *const CFX_TRANSPOSE_TABLE[5] = {
    transpose_1, transpose_2, transpose_4, transpose_8, transpose_16,
};
