/*
 * math_int.h -- functions of one integer type: included once for each, with
 * T, the type it is computed in (C), BITS and M(name) defined.
 *
 * Divisors of 0 set *zero and give 0. Overflow wraps around, that of the
 * smallest number divided by -1 too.
 */

/* clang-format off */
CFX_INLINE C M(abs)(C x) { return x < 0 ? -x : x; }
CFX_INLINE int M(isnan)(C x) { return (void)x, 0; }
CFX_INLINE int M(isinf)(C x) { return (void)x, 0; }
CFX_INLINE int M(isfinite)(C x) { return (void)x, 1; }
CFX_INLINE int M(signbit)(C x) { return x < 0; }
/* clang-format on */

CFX_INLINE C M(clamp3)(C x, C lo, C hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

/* The divisor, or 1 where there is no quotient; -1 divides by negation. */
CFX_INLINE C M(divisor)(C y, unsigned *zero)
{
    *zero |= y == 0;
    return y == 0 || y == -1 ? 1 : y;
}

CFX_INLINE C M(div_trunc)(C x, C y, unsigned *zero)
{
    C q = x / M(divisor)(y, zero);

    return y == 0 ? 0 : y == -1 ? -x : q;
}

CFX_INLINE C M(fmod)(C x, C y, unsigned *zero)
{
    C r = x % M(divisor)(y, zero);

    return y == 0 ? 0 : r;
}

CFX_INLINE C M(remainder)(C x, C y, unsigned *zero)
{
    C r = M(fmod)(x, y, zero);

    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

CFX_INLINE C M(div_floor)(C x, C y, unsigned *zero)
{
    C q = M(div_trunc)(x, y, zero), r = x - q * y;

    return r != 0 && (r < 0) != (y < 0) ? q - 1 : q;
}

CFX_INLINE C M(pow)(C x, C y)
{
    C power = 1;

    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    for (; y; y >>= 1, x *= x)
        if (y & 1)
            power *= x;
    return power;
}

/* The greatest common divisor; that of 0 and 0 is 0. */
CFX_INLINE C M(gcd)(C x, C y)
{
    x = M(abs)(x);
    y = M(abs)(y);
    while (y != 0 && y != -1) {
        C r = x % y;

        x = y;
        y = r;
    }
    return y == 0 ? x : -y;
}

CFX_INLINE C M(lcm)(C x, C y)
{
    C divisor = M(gcd)(x, y);

    return divisor == 0 ? 0 : M(abs)(x / divisor * y);
}

CFX_INLINE C M(not )(C x)
{
    return BITS == 1 ? !x : ~x;
}

CFX_INLINE C M(shift_left)(C x, C n)
{
    return n < 0 || n >= BITS ? 0 : (C)((uint64_t)x << n);
}

CFX_INLINE C M(shift_right)(C x, C n)
{
    return x >> (n < 0 || n >= BITS ? BITS - 1 : n);
}
