#!/bin/sh
# Passes on whole models: a few, or, with CFX_ZOO_MODELS set to "all", the zoo.
# `passes_zoo.sh --write` writes golden/passes.tsv anew, from all of the zoo;
# then its models are counted, not run.
set -eu
few="alexnet resnet18 mobilenet_v3_small squeezenet1_1 vgg11_bn"
case ${1:-}${CFX_ZOO_MODELS:-few} in
--write* | all) models=$(cd "$CFX_ZOO" && ls ./*.fx |
    sed 's|./||; s|\.fx$||') ;;
*)  models=$few ;;
esac
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/zoo_tests" passes_zoo "$CFX_ZOO" \
    "$srcdir/tests/golden/zoo" "$srcdir/tests/golden/passes.tsv" \
    "$@" $models
