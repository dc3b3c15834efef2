;; Dot products of one int16 request with `count` int8 rows, 16 numbers at a time. `width` is a multiple of 16.
;; Compiled into scan-kernel.ts: npm run build:kernel
(module
  (memory (export "memory") 1)
  (func (export "scan") (param $request i32) (param $rows i32) (param $count i32) (param $width i32) (param $out i32)
    (local $end i32) (local $column i32) (local $row v128) (local $sum v128) (local $q i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $each
        (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $column (i32.const 0))
        (local.set $q (local.get $request))
        (loop $step
          (local.set $row (v128.load (i32.add (local.get $rows) (local.get $column))))
          (local.set $sum (i32x4.add (local.get $sum)
            (i32x4.add
              (i32x4.dot_i16x8_s (v128.load (local.get $q)) (i16x8.extend_low_i8x16_s (local.get $row)))
              (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $q)) (i16x8.extend_high_i8x16_s (local.get $row))))))
          (local.set $q (i32.add (local.get $q) (i32.const 32)))
          (local.set $column (i32.add (local.get $column) (i32.const 16)))
          (br_if $step (i32.lt_u (local.get $column) (local.get $width))))
        (i32.store (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
            (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
        (local.set $rows (i32.add (local.get $rows) (local.get $width)))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br $each)))))
