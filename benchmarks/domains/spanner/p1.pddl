(define (problem spanner-1)
  (:domain spanner)
  (:objects shed spot1 spot2 gate - location bob - man s1 s2 - spanner n1 - nut)
  (:init (link shed spot1) (link spot1 spot2) (link spot2 gate) (at bob shed) (at s1 spot2) (usable s1) (at s2
         spot1) (usable s2) (at n1 gate) (loose n1))
  (:goal (and (tight n1))))
