(define (problem sokoban-2)
  (:domain sokoban)
  (:objects c0-0 c1-0 c2-0 c3-0 c4-0 c0-1 c1-1 c2-1 c3-1 c4-1 c0-2 c1-2 c3-2 c4-2 c0-3 c1-3 c2-3 c3-3 c4-3 -
         cell up down east west - direction b1 b2 - box)
  (:init (next c0-0 c0-1 down) (next c0-0 c1-0 east) (next c1-0 c1-1 down) (next c1-0 c2-0 east) (next c1-0
         c0-0 west) (next c2-0 c2-1 down) (next c2-0 c3-0 east) (next c2-0 c1-0 west) (next c3-0 c3-1 down)
         (next c3-0 c4-0 east) (next c3-0 c2-0 west) (next c4-0 c4-1 down) (next c4-0 c3-0 west) (next c0-1
         c0-0 up) (next c0-1 c0-2 down) (next c0-1 c1-1 east) (next c1-1 c1-0 up) (next c1-1 c1-2 down) (next
         c1-1 c2-1 east) (next c1-1 c0-1 west) (next c2-1 c2-0 up) (next c2-1 c3-1 east) (next c2-1 c1-1 west)
         (next c3-1 c3-0 up) (next c3-1 c3-2 down) (next c3-1 c4-1 east) (next c3-1 c2-1 west) (next c4-1 c4-0
         up) (next c4-1 c4-2 down) (next c4-1 c3-1 west) (next c0-2 c0-1 up) (next c0-2 c0-3 down) (next c0-2
         c1-2 east) (next c1-2 c1-1 up) (next c1-2 c1-3 down) (next c1-2 c0-2 west) (next c3-2 c3-1 up) (next
         c3-2 c3-3 down) (next c3-2 c4-2 east) (next c4-2 c4-1 up) (next c4-2 c4-3 down) (next c4-2 c3-2 west)
         (next c0-3 c0-2 up) (next c0-3 c1-3 east) (next c1-3 c1-2 up) (next c1-3 c2-3 east) (next c1-3 c0-3
         west) (next c2-3 c3-3 east) (next c2-3 c1-3 west) (next c3-3 c3-2 up) (next c3-3 c4-3 east) (next
         c3-3 c2-3 west) (next c4-3 c4-2 up) (next c4-3 c3-3 west) (player-at c0-0) (at b1 c1-1) (at b2 c2-1)
         (clear c1-0) (clear c2-0) (clear c3-0) (clear c4-0) (clear c0-1) (clear c3-1) (clear c4-1) (clear
         c0-2) (clear c1-2) (clear c3-2) (clear c4-2) (clear c0-3) (clear c1-3) (clear c2-3) (clear c3-3)
         (clear c4-3))
  (:goal (and (at b1 c1-3) (at b2 c4-3))))
