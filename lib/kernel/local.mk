# Kernels. What is compiled once drives them; the files of KERNEL_LEVEL are
# compiled for each level of instructions, with that level's name.

libcore_la_SOURCES += %reldir%/kernel.c %reldir%/kernel.h %reldir%/simd.h \
    %reldir%/iter.c %reldir%/iter.h %reldir%/convert.h \
    %reldir%/pointwise.c %reldir%/pointwise.h %reldir%/pointwise.def \
    %reldir%/copy.c %reldir%/fill.c \
    %reldir%/reduce.c %reldir%/reduce.h %reldir%/scan.c \
    %reldir%/norm.c %reldir%/norm.h \
    %reldir%/index.c %reldir%/index.h \
    %reldir%/rearrange.c %reldir%/sort.c \
    %reldir%/svd.c %reldir%/svd.h

KERNEL_LEVEL = \
    %reldir%/pointwise_f32.c %reldir%/pointwise_f64.c \
    %reldir%/pointwise_int.c %reldir%/pointwise_table.c \
    %reldir%/pointwise_loops.h %reldir%/pointwise_table.h \
    %reldir%/math_f32.h %reldir%/math_f64.h %reldir%/math_int.h \
    %reldir%/int64.h \
    %reldir%/convert_level.c %reldir%/convert_level.h \
    %reldir%/move_level.c %reldir%/reduce_level.c %reldir%/reduce_loops.h \
    %reldir%/norm_level.c %reldir%/norm_loops.h

# Matrix products, convolution, pooling, resampling, attention, recurrent layers.
libcore_la_SOURCES += %reldir%/gemm.c %reldir%/gemm.h \
    %reldir%/gemm_core.c %reldir%/gemm_core.h \
    %reldir%/gemm_int.c %reldir%/gemm_int.h \
    %reldir%/conv.c %reldir%/conv.h %reldir%/conv_core.h \
    %reldir%/conv_depthwise.c %reldir%/conv_plain.c \
    %reldir%/conv_product.c %reldir%/conv_windows.c \
    %reldir%/conv_winograd.c %reldir%/winograd.h \
    %reldir%/pool.c %reldir%/pool.h %reldir%/pool_core.h \
    %reldir%/resample.c %reldir%/resample.h %reldir%/resample_rows.h \
    %reldir%/grid_sample.c %reldir%/pad.c %reldir%/columns.c \
    %reldir%/attention.c %reldir%/attention.h \
    %reldir%/rnn.c %reldir%/rnn.h

KERNEL_LEVEL += %reldir%/gemm_level.c %reldir%/gemm_level.h \
    %reldir%/conv_level.c %reldir%/conv_level.h \
    %reldir%/winograd_level.c \
    %reldir%/pool_level.c %reldir%/pool_level.h %reldir%/vec.h \
    %reldir%/vec_plain.h %reldir%/vec_avx2.h %reldir%/vec_avx512.h \
    %reldir%/vec_neon.h

# No fast math: NaN, infinities and signed zeros stay right. Contraction of
# products and sums is wanted; integers wrap around as in PyTorch; elements are
# moved by their size alone. (For an -O2 in CFLAGS, which comes behind these,
# see simd.h.)
KERNEL_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT) -fno-math-errno -fno-trapping-math \
    -ffp-contract=fast -fwrapv -fno-strict-aliasing

noinst_LTLIBRARIES += libkernel_plain.la
libkernel_plain_la_SOURCES = $(KERNEL_LEVEL)
libkernel_plain_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=plain
libkernel_plain_la_CFLAGS = $(KERNEL_CFLAGS)
libcore_la_LIBADD += libkernel_plain.la

if CFX_X86_64
noinst_LTLIBRARIES += libkernel_avx2.la libkernel_avx512.la
libkernel_avx2_la_SOURCES = $(KERNEL_LEVEL)
libkernel_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx2
libkernel_avx2_la_CFLAGS = $(KERNEL_CFLAGS) -mavx2 -mfma -mf16c
libkernel_avx512_la_SOURCES = $(KERNEL_LEVEL)
libkernel_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx512
libkernel_avx512_la_CFLAGS = $(KERNEL_CFLAGS) -mavx512f -mavx512bw \
    -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512
libcore_la_LIBADD += libkernel_avx2.la libkernel_avx512.la
endif

if CFX_AARCH64
noinst_LTLIBRARIES += libkernel_neon.la
libkernel_neon_la_SOURCES = $(KERNEL_LEVEL)
libkernel_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=neon
libkernel_neon_la_CFLAGS = $(KERNEL_CFLAGS)
libcore_la_LIBADD += libkernel_neon.la
endif

# Random numbers.
libcore_la_SOURCES += %reldir%/random.c %reldir%/random.h

# Distances of rows.
libcore_la_SOURCES += %reldir%/distance.c %reldir%/distance.h
