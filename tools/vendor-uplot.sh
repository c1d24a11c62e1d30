#!/bin/bash
# Gets uPlot, which draws the charts of perk serve, from npm, as a module with its licence.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.6.32
sum=4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d
folder=crates/page/assets/vendor
mkdir -p "$folder"
get() { tools/npm.sh uplot "$version" "$sum" "package/$1" "$folder/$2"; }
get LICENSE uplot-licence.txt
get dist/uPlot.min.css uplot.css
get dist/uPlot.iife.min.js uplot.js
# A script that makes a variable becomes a module that exports it.
echo 'export { uPlot };' >>"$folder/uplot.js"
