(define (problem spanner-2)
  (:domain spanner)
  (:objects shed spot1 spot2 gate - location bob - man s1 s2 s3 - spanner n1 n2 - nut)
  (:init (link shed spot1) (link spot1 spot2) (link spot2 gate) (at bob shed) (at s1 spot2) (usable s1) (at s2
         spot1) (usable s2) (at s3 spot2) (usable s3) (at n1 gate) (loose n1) (at n2 gate) (loose n2))
  (:goal (and (tight n1) (tight n2))))
