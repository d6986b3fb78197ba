/*
 * code_forms -- how Python writes the functions of its module operator.
 *
 * In a form `@` is replaced by the next argument, and \x01 is the sign @. Of
 * two functions with one form the reader takes the first.
 */
#include "format/python/code_forms.h"

const cfx_code_form cfx_code_infix[] = {{"eq", "@ == @"},
                                        {"ne", "@ != @"},
                                        {"lt", "@ < @"},
                                        {"gt", "@ > @"},
                                        {"le", "@ <= @"},
                                        {"ge", "@ >= @"},
                                        {"pos", "+@"},
                                        {"neg", "-@"},
                                        {"invert", "~@"},
                                        {"add", "@ + @"},
                                        {"sub", "@ - @"},
                                        {"mul", "@ * @"},
                                        {"floordiv", "@ // @"},
                                        {"truediv", "@ / @"},
                                        {"div", "@ / @"},
                                        {"mod", "@ % @"},
                                        {"pow", "@ ** @"},
                                        {"lshift", "@ << @"},
                                        {"rshift", "@ >> @"},
                                        {"and_", "@ & @"},
                                        {"or_", "@ | @"},
                                        {"xor", "@ ^ @"},
                                        {"getitem", "@[@]"},
                                        {"matmul", "@ \x01 @"},
                                        {0}};

const cfx_code_form cfx_code_inplace[] = {{"iadd", "@ += @"},
                                          {"iand", "@ &= @"},
                                          {"ifloordiv", "@ //= @"},
                                          {"ilshift", "@ <<= @"},
                                          {"imod", "@ %= @"},
                                          {"imul", "@ *= @"},
                                          {"imatmul", "@ \x01= @"},
                                          {"ior", "@ |= @"},
                                          {"ipow", "@ **= @"},
                                          {"irshift", "@ >>= @"},
                                          {"isub", "@ -= @"},
                                          {"itruediv", "@ /= @"},
                                          {"ixor", "@ ^= @"},
                                          {"setitem", "@[@] = @"},
                                          {0}};

/* Does the sign of a form, from after its first `@ `, stand at s? */
static size_t sign_length(const char *form, const char *s, const char *end)
{
    size_t n = 0;
    if (form[0] != '@' || form[1] != ' ')
        return 0;
    for (form += 2; *form != ' '; form++, n++) {
        char sign = *form;
        if (sign == '\x01')
            sign = '@';
        if (s + n >= end || s[n] != sign)
            return 0;
    }
    return n;
}

const cfx_code_form *cfx_code_form__at(const cfx_code_form *table,
                                       const char *s, const char *end,
                                       size_t *len)
{
    const cfx_code_form *best = NULL;
    *len = 0;
    for (; table->name; table++) {
        size_t n = sign_length(table->form, s, end);
        if (n > *len) {
            best = table;
            *len = n;
        }
    }
    return best;
}
