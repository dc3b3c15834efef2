;; The inner loops of comparing two texts. `npm run build:kernel` compiles them into compare-kernel.ts.
(module
  (memory (export "memory") 1)

  ;; Grams of profile `a` that profile `b` lacks, over `bytes` one-byte bins, thirty-two at a time.
  (func (export "misses") (param $a i32) (param $b i32) (param $bytes i32) (result i32)
    (local $end i32) (local $sum v128)
    (local.set $end (i32.add (local.get $a) (local.get $bytes)))
    (loop $step
      (local.set $sum (i32x4.add (local.get $sum)
        (i32x4.extadd_pairwise_i16x8_u
          (i16x8.add
            (i16x8.extadd_pairwise_i8x16_u (i8x16.sub_sat_u (v128.load (local.get $a)) (v128.load (local.get $b))))
            (i16x8.extadd_pairwise_i8x16_u
              (i8x16.sub_sat_u (v128.load offset=16 (local.get $a)) (v128.load offset=16 (local.get $b))))))))
      (local.set $a (i32.add (local.get $a) (i32.const 32)))
      (local.set $b (i32.add (local.get $b) (i32.const 32)))
      (br_if $step (i32.lt_u (local.get $a) (local.get $end))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
      (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))

  (func $isBetween (param $code i32) (param $first i32) (param $last i32) (result i32)
    (i32.le_u (i32.sub (local.get $code) (local.get $first)) (i32.sub (local.get $last) (local.get $first))))
  (func $isOtherSpace (param $code i32) (result i32)
    (i32.or
      (i32.or
        (i32.or
          (i32.eq (local.get $code) (i32.const 0xa0))
          (call $isBetween (local.get $code) (i32.const 0x2000) (i32.const 0x200b)))
        (i32.or
          (call $isBetween (local.get $code) (i32.const 0x2028) (i32.const 0x2029))
          (i32.eq (local.get $code) (i32.const 0x202f))))
      (i32.or
        (i32.or
          (i32.eq (local.get $code) (i32.const 0x205f))
          (i32.eq (local.get $code) (i32.const 0x1680)))
        (i32.or
          (i32.eq (local.get $code) (i32.const 0x3000))
          (i32.eq (local.get $code) (i32.const 0xfeff))))))
  ;; In one of the blocks beyond ASCII whose letters have two cases.
  (func $mayBeCased (param $code i32) (result i32)
    (i32.or
      (i32.or
        (call $isBetween (local.get $code) (i32.const 0xc0) (i32.const 0x1fff))
        (i32.or
          (call $isBetween (local.get $code) (i32.const 0x2126) (i32.const 0x2183))
          (call $isBetween (local.get $code) (i32.const 0x24b6) (i32.const 0x24cf))))
      (i32.or
        (i32.or
          (call $isBetween (local.get $code) (i32.const 0x2c00) (i32.const 0x2cff))
          (call $isBetween (local.get $code) (i32.const 0xa640) (i32.const 0xabff)))
        (i32.or
          (call $isBetween (local.get $code) (i32.const 0xd801) (i32.const 0xd83a))
          (call $isBetween (local.get $code) (i32.const 0xff21) (i32.const 0xff3a))))))

  ;; In place: ASCII in lower case, every run of white space one space, none at the ends. Returns the length, or -1 where
  ;; letters beyond ASCII may need another case, which is not known here.
  (func (export "normalise") (param $text i32) (param $length i32) (param $isLower i32) (result i32)
    (local $from i32) (local $to i32) (local $end i32) (local $code i32) (local $isSpace i32) (local $space i32)
    (local $simpleFrom i32) (local $eight v128) (local $spaces i32)
    (local.set $from (local.get $text))
    (local.set $to (local.get $text))
    (local.set $end (i32.add (local.get $text) (i32.shl (local.get $length) (i32.const 1))))
    (local.set $space (i32.const 1))
    (block $done
      (loop $each
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        ;; Eight at a time, where all are printable ASCII and no space follows another.
        (if (i32.and
            (i32.ge_u (local.get $from) (local.get $simpleFrom))
            (i32.le_u (i32.add (local.get $from) (i32.const 16)) (local.get $end)))
          (then
            (local.set $eight (v128.load (local.get $from)))
            (local.set $spaces (i16x8.bitmask (i16x8.eq (local.get $eight) (i16x8.splat (i32.const 32)))))
            (if (i32.and
                (i16x8.all_true (i16x8.lt_u
                  (i16x8.sub (local.get $eight) (i16x8.splat (i32.const 32)))
                  (i16x8.splat (i32.const 95))))
                (i32.eqz (i32.and (local.get $spaces)
                  (i32.or (i32.shl (local.get $spaces) (i32.const 1)) (local.get $space)))))
              (then
                (v128.store (local.get $to) (i16x8.add (local.get $eight)
                  (v128.and (i16x8.splat (i32.const 32))
                    (i16x8.lt_u
                      (i16x8.sub (local.get $eight) (i16x8.splat (i32.const 65)))
                      (i16x8.splat (i32.const 26))))))
                (local.set $space (i32.shr_u (local.get $spaces) (i32.const 7)))
                (local.set $from (i32.add (local.get $from) (i32.const 16)))
                (local.set $to (i32.add (local.get $to) (i32.const 16)))
                (br $each)))
            (local.set $simpleFrom (i32.add (local.get $from) (i32.const 16)))))
        (local.set $code (i32.load16_u (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 2)))
        (local.set $isSpace (i32.or
          (i32.eq (local.get $code) (i32.const 32))
          (call $isBetween (local.get $code) (i32.const 9) (i32.const 13))))
        (if (i32.ge_u (local.get $code) (i32.const 160))
          (then
            (local.set $isSpace (call $isOtherSpace (local.get $code)))
            (if (i32.lt_u (local.get $isLower) (call $mayBeCased (local.get $code)))
              (then (return (i32.const -1))))))
        (br_if $each (i32.and (local.get $isSpace) (local.get $space)))
        (local.set $space (local.get $isSpace))
        (i32.store16 (local.get $to)
          (select (i32.const 32)
            (i32.add (local.get $code)
              (i32.shl (call $isBetween (local.get $code) (i32.const 65) (i32.const 90)) (i32.const 5)))
            (local.get $isSpace)))
        (local.set $to (i32.add (local.get $to) (i32.const 2)))
        (br $each)))
    (i32.sub
      (i32.shr_u (i32.sub (local.get $to) (local.get $text)) (i32.const 1))
      (i32.and (local.get $space) (i32.gt_u (local.get $to) (local.get $text)))))

  (func $count (param $bin i32)
    (local $n i32)
    (local.set $n (i32.load8_u (local.get $bin)))
    ;; A full bin stays full.
    (i32.store8 (local.get $bin) (i32.add (local.get $n) (i32.lt_u (local.get $n) (i32.const 255)))))

  ;; How often each gram occurs: 1024 bins for those of two characters, then 8192 for those of three.
  (func (export "profile") (param $text i32) (param $length i32) (param $row i32)
    (local $p i32) (local $end i32) (local $last i32) (local $code i32) (local $pair i32) (local $before i32)
    (memory.fill (local.get $row) (i32.const 0) (i32.const 9216))
    (if (i32.lt_u (local.get $length) (i32.const 2)) (then (return)))
    (local.set $end (i32.add (local.get $text) (i32.shl (local.get $length) (i32.const 1))))
    (local.set $last (i32.load16_u (local.get $text)))
    (local.set $p (i32.add (local.get $text) (i32.const 2)))
    (loop $each
      (local.set $code (i32.load16_u (local.get $p)))
      (local.set $before (local.get $pair))
      (local.set $pair (i32.xor (i32.shl (local.get $last) (i32.const 5)) (local.get $code)))
      (local.set $last (local.get $code))
      (call $count (i32.add (local.get $row) (i32.and (local.get $pair) (i32.const 1023))))
      (if (i32.gt_u (local.get $p) (i32.add (local.get $text) (i32.const 2)))
        (then (call $count (i32.add (i32.add (local.get $row) (i32.const 1024))
          (i32.shr_u
            (i32.mul (i32.xor (i32.shl (local.get $before) (i32.const 5)) (local.get $code)) (i32.const 0x9e3779b1))
            (i32.const 19))))))
      (local.set $p (i32.add (local.get $p) (i32.const 2)))
      (br_if $each (i32.lt_u (local.get $p) (local.get $end)))))

  ;; Where the stretches are noted in which the three characters at `p` occur: one of 16384 words, by their hash.
  ;; Reads a fourth character and drops it.
  (func $noted (param $p i32) (result i32)
    (i32.shl
      (i32.wrap_i64 (i64.shr_u
        (i64.mul (i64.shl (i64.load (local.get $p)) (i64.const 16)) (i64.const 0x9e3779b97f4a7c15))
        (i64.const 50)))
      (i32.const 2)))

  ;; Notes which three characters begin in which stretch of the text: one bit for each stretch of 2^stretchBits characters.
  (func (export "note") (param $text i32) (param $length i32) (param $stretchBits i32)
    (local $at i32) (local $noted i32)
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536))
    (block $done
      (loop $each
        (br_if $done (i32.gt_s (i32.add (local.get $at) (i32.const 3)) (local.get $length)))
        (local.set $noted (call $noted (i32.add (local.get $text) (i32.shl (local.get $at) (i32.const 1)))))
        (i32.store (local.get $noted) (i32.or
          (i32.load (local.get $noted))
          (i32.shl (i32.const 1) (i32.shr_u (local.get $at) (local.get $stretchBits)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $each))))

  ;; How far to go on, and in the higher half, the edits that are needed: three characters that do not occur near by need
  ;; one; where they do occur, the next three may begin with the second of them.
  (func $step (param $text i32) (param $near i32) (param $at i32) (param $end i32) (result i32)
    (select
      (select (i32.const 1) (i32.const 0x10003)
        (i32.and
          (i32.load (call $noted (i32.add (local.get $text) (i32.shl (local.get $at) (i32.const 1)))))
          (i32.load (i32.add (local.get $near) (i32.shl (i32.shr_u (local.get $at) (i32.const 5)) (i32.const 2))))))
      (i32.const 0)
      (i32.le_s (i32.add (local.get $at) (i32.const 3)) (local.get $end))))

  ;; 1 when the other text has more than `limit` separate threes of characters that the noted one has not near by: `near`
  ;; has the stretches that count, for each 32 characters. The quarters of the text are gone through side by side: with
  ;; four places to look at in each turn, and no branches, the processor never waits.
  (func (export "lacks") (param $text i32) (param $length i32) (param $near i32) (param $limit i32) (result i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local $endA i32) (local $endB i32) (local $endC i32)
    (local $ofA i32) (local $ofB i32) (local $ofC i32) (local $ofD i32)
    (local $turn i32) (local $edits i32) (local $left i32)
    (local.set $left (local.get $length))
    (local.set $endA (i32.shr_u (local.get $length) (i32.const 2)))
    (local.set $endB (i32.shl (local.get $endA) (i32.const 1)))
    (local.set $endC (i32.add (local.get $endB) (local.get $endA)))
    (local.set $b (local.get $endA))
    (local.set $c (local.get $endB))
    (local.set $d (local.get $endC))
    (loop $each
      (local.set $ofA (call $step (local.get $text) (local.get $near) (local.get $a) (local.get $endA)))
      (local.set $ofB (call $step (local.get $text) (local.get $near) (local.get $b) (local.get $endB)))
      (local.set $ofC (call $step (local.get $text) (local.get $near) (local.get $c) (local.get $endC)))
      (local.set $ofD (call $step (local.get $text) (local.get $near) (local.get $d) (local.get $length)))
      (local.set $a (i32.add (local.get $a) (i32.and (local.get $ofA) (i32.const 0xffff))))
      (local.set $b (i32.add (local.get $b) (i32.and (local.get $ofB) (i32.const 0xffff))))
      (local.set $c (i32.add (local.get $c) (i32.and (local.get $ofC) (i32.const 0xffff))))
      (local.set $d (i32.add (local.get $d) (i32.and (local.get $ofD) (i32.const 0xffff))))
      (local.set $turn (i32.add
        (i32.add (local.get $ofA) (local.get $ofB)) (i32.add (local.get $ofC) (local.get $ofD))))
      (local.set $left (i32.sub (local.get $left) (i32.and (local.get $turn) (i32.const 0xffff))))
      (local.set $edits (i32.add (local.get $edits) (i32.shr_u (local.get $turn) (i32.const 16))))
      (if (i32.gt_s (local.get $edits) (local.get $limit)) (then (return (i32.const 1))))
      ;; As long as one of the four goes on, and what is left could be enough.
      (br_if $each (i32.and
        (i32.ne (local.get $turn) (i32.const 0))
        (i32.le_s (i32.mul (i32.sub (local.get $limit) (local.get $edits)) (i32.const 3)) (local.get $left)))))
    (i32.const 0))

  ;; One column of blocks `first` to `last`; by how much the value in the lowest row, bit `shift` of `last`, changed.
  ;; A block is two words of the state: where values grow downwards, and where they fall.
  (func $advance (param $state i32) (param $matches i32) (param $first i32) (param $last i32) (param $shift i64)
      (result i32)
    (local $at i32) (local $end i32) (local $grows i64) (local $falls i64) (local $pv i64) (local $mv i64) (local $eq i64)
    (local $xv i64) (local $xh i64) (local $ph i64) (local $mh i64) (local $shifted i64)
    (local.set $at (i32.add (local.get $state) (i32.shl (local.get $first) (i32.const 4))))
    (local.set $end (i32.add (local.get $state) (i32.shl (local.get $last) (i32.const 4))))
    (local.set $matches (i32.add (local.get $matches) (i32.shl (local.get $first) (i32.const 3))))
    ;; The horizontal difference that enters a block from above, as two bits: it grows, it falls.
    (local.set $grows (i64.const 1))
    (loop $each
      (local.set $pv (i64.load (local.get $at)))
      (local.set $mv (i64.load offset=8 (local.get $at)))
      (local.set $eq (i64.load (local.get $matches)))
      (local.set $xv (i64.or (local.get $eq) (local.get $mv)))
      (local.set $eq (i64.or (local.get $eq) (local.get $falls)))
      (local.set $xh (i64.or
        (i64.xor (i64.add (i64.and (local.get $eq) (local.get $pv)) (local.get $pv)) (local.get $pv))
        (local.get $eq)))
      (local.set $ph (i64.or (local.get $mv)
        (i64.xor (i64.or (local.get $xh) (local.get $pv)) (i64.const -1))))
      (local.set $mh (i64.and (local.get $pv) (local.get $xh)))
      (local.set $shifted (i64.or (i64.shl (local.get $ph) (i64.const 1)) (local.get $grows)))
      (i64.store (local.get $at) (i64.or
        (i64.or (i64.shl (local.get $mh) (i64.const 1)) (local.get $falls))
        (i64.xor (i64.or (local.get $xv) (local.get $shifted)) (i64.const -1))))
      (i64.store offset=8 (local.get $at) (i64.and (local.get $shifted) (local.get $xv)))
      (local.set $grows (i64.shr_u (local.get $ph) (i64.const 63)))
      (local.set $falls (i64.shr_u (local.get $mh) (i64.const 63)))
      (local.set $matches (i32.add (local.get $matches) (i32.const 8)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $each (i32.le_u (local.get $at) (local.get $end))))
    (i32.sub
      (i32.wrap_i64 (i64.and (i64.shr_u (local.get $ph) (local.get $shift)) (i64.const 1)))
      (i32.wrap_i64 (i64.and (i64.shr_u (local.get $mh) (local.get $shift)) (i64.const 1)))))

  ;; By how much values grow from the top to the bottom of a block that has `rows` rows.
  (func $rise (param $state i32) (param $block i32) (param $rows i32) (result i32)
    (local $at i32) (local $used i64)
    (local.set $at (i32.add (local.get $state) (i32.shl (local.get $block) (i32.const 4))))
    (local.set $used (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $rows)))))
    (i32.wrap_i64 (i64.sub
      (i64.popcnt (i64.and (i64.load (local.get $at)) (local.get $used)))
      (i64.popcnt (i64.and (i64.load offset=8 (local.get $at)) (local.get $used))))))

  (func $min (param $a i32) (param $b i32) (result i32)
    (select (local.get $a) (local.get $b) (i32.lt_s (local.get $a) (local.get $b))))
  (func $above0 (param $a i32) (result i32)
    (select (local.get $a) (i32.const 0) (i32.gt_s (local.get $a) (i32.const 0))))
  (func $abs (param $a i32) (result i32)
    (select (local.get $a) (i32.sub (i32.const 0) (local.get $a)) (i32.gt_s (local.get $a) (i32.const 0))))

  ;; Columns of blocks that `within` went through: a measure of work that does not depend on the machine.
  (global $steps (export "steps") (mut f64) (f64.const 0))

  ;; 1 when the distance of the prepared text (as `matches`, `rows` long) and the other one is at most `limit`.
  ;; Cells outside the band are taken to grow by one per step, which is never less than their true value, so a result
  ;; within the limit is exact and a larger one means that no path within the limit exists.
  (func (export "within") (param $other i32) (param $columns i32) (param $rows i32) (param $state i32)
      (param $matches i32) (param $limit i32) (result i32)
    (local $blocks i32) (local $lastBlock i32) (local $lastRows i32) (local $slack i32) (local $above i32)
    (local $below i32) (local $column i32) (local $first i32) (local $last i32) (local $lastAllowed i32)
    (local $wanted i32) (local $score i32) (local $bottom i32) (local $block i32) (local $lowest i32) (local $highest i32)
    (local $ofBlock i32)
    (local.set $blocks (i32.shr_u (i32.add (local.get $rows) (i32.const 63)) (i32.const 6)))
    (local.set $lastBlock (i32.sub (local.get $blocks) (i32.const 1)))
    (local.set $lastRows (i32.sub (local.get $rows) (i32.shl (local.get $lastBlock) (i32.const 6))))
    (local.set $slack (i32.shr_s
      (i32.sub (local.get $limit) (call $abs (i32.sub (local.get $rows) (local.get $columns)))) (i32.const 1)))
    (local.set $above (i32.add (local.get $slack) (call $above0 (i32.sub (local.get $columns) (local.get $rows)))))
    (local.set $below (i32.add (local.get $slack) (call $above0 (i32.sub (local.get $rows) (local.get $columns)))))
    (local.set $last (i32.const -1))
    (local.set $lastAllowed (local.get $lastBlock))
    (loop $each
      (local.set $first (i32.add (local.get $first)
        (i32.ge_s (i32.sub (local.get $column) (local.get $above))
          (i32.shl (i32.add (local.get $first) (i32.const 1)) (i32.const 6)))))
      (local.set $wanted (call $min (local.get $lastAllowed)
        (i32.shr_u
          (call $min (i32.sub (local.get $rows) (i32.const 1)) (i32.add (local.get $column) (local.get $below)))
          (i32.const 6))))
      (block $wideEnough
        (loop $widen
          (br_if $wideEnough (i32.ge_s (local.get $last) (local.get $wanted)))
          (local.set $last (i32.add (local.get $last) (i32.const 1)))
          (local.set $block (i32.add (local.get $state) (i32.shl (local.get $last) (i32.const 4))))
          (i64.store (local.get $block) (i64.const -1))
          (i64.store offset=8 (local.get $block) (i64.const 0))
          (local.set $score (i32.add (local.get $score)
            (select (local.get $lastRows) (i32.const 64) (i32.eq (local.get $last) (local.get $lastBlock)))))
          (br $widen)))
      (global.set $steps (f64.add (global.get $steps)
        (f64.convert_i32_s (i32.sub (i32.add (local.get $last) (i32.const 1)) (local.get $first)))))
      (local.set $score (i32.add (local.get $score)
        (call $advance
          (local.get $state)
          (i32.add (local.get $matches)
            (i32.shl
              (i32.mul (local.get $blocks) (i32.load16_u (i32.shl
                (i32.load16_u (i32.add (local.get $other) (i32.shl (local.get $column) (i32.const 1))))
                (i32.const 1))))
              (i32.const 3)))
          (local.get $first)
          (local.get $last)
          (i64.extend_i32_u (i32.sub
            (select (local.get $lastRows) (i32.const 64) (i32.eq (local.get $last) (local.get $lastBlock)))
            (i32.const 1))))))
      (if (i32.eq (i32.and (local.get $column) (i32.const 63)) (i32.const 63))
        (then
          ;; Values never fall along a diagonal, so a block without a cell that can still end within the limit is done
          ;; with, and in the next 64 columns the band can grow by one block at most.
          (local.set $bottom (local.get $score))
          (local.set $lowest (i32.const -1))
          (local.set $highest (i32.const -1))
          (local.set $block (local.get $last))
          (loop $upwards
            (local.set $ofBlock
              (select (local.get $lastRows) (i32.const 64) (i32.eq (local.get $block) (local.get $lastBlock))))
            (if (i32.lt_s
                (i32.sub
                  (i32.add (local.get $bottom)
                    (call $abs (i32.sub
                      (i32.sub (local.get $rows)
                        (i32.add (i32.shl (local.get $block) (i32.const 6)) (local.get $ofBlock)))
                      (i32.sub (i32.sub (local.get $columns) (local.get $column)) (i32.const 1)))))
                  (i32.const 128))
                (local.get $limit))
              (then
                (local.set $lowest (local.get $block))
                (if (i32.lt_s (local.get $highest) (i32.const 0)) (then (local.set $highest (local.get $block))))))
            (local.set $bottom (i32.sub (local.get $bottom)
              (call $rise (local.get $state) (local.get $block) (local.get $ofBlock))))
            (local.set $block (i32.sub (local.get $block) (i32.const 1)))
            (br_if $upwards (i32.ge_s (local.get $block) (local.get $first))))
          (if (i32.lt_s (local.get $lowest) (i32.const 0)) (then (return (i32.const 0))))
          (local.set $first (local.get $lowest))
          (local.set $lastAllowed
            (call $min (local.get $lastBlock) (i32.add (local.get $highest) (i32.const 1))))
          (block $narrowEnough
            (loop $narrow
              (br_if $narrowEnough (i32.le_s (local.get $last) (local.get $lastAllowed)))
              (local.set $score (i32.sub (local.get $score)
                (call $rise (local.get $state) (local.get $last)
                  (select (local.get $lastRows) (i32.const 64) (i32.eq (local.get $last) (local.get $lastBlock))))))
              (local.set $last (i32.sub (local.get $last) (i32.const 1)))
              (br $narrow)))))
      (local.set $column (i32.add (local.get $column) (i32.const 1)))
      (br_if $each (i32.lt_s (local.get $column) (local.get $columns))))
    (i32.and
      (i32.eq (local.get $last) (local.get $lastBlock))
      (i32.le_s (local.get $score) (local.get $limit)))))
