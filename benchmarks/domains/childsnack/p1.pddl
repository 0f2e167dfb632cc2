(define (problem childsnack-1)
  (:domain childsnack)
  (:objects kid1 kid2 - child bread1 bread2 - bread jam1 jam2 - content sandwich1 sandwich2 sandwich3 -
         sandwich tray1 - tray kitchen table1 - place)
  (:init (is-kitchen kitchen) (tray-at tray1 kitchen) (bread-left bread1) (content-left jam1) (bread-left
         bread2) (content-left jam2) (no-gluten-bread bread1) (no-gluten-content jam1) (unmade sandwich1)
         (unmade sandwich2) (unmade sandwich3) (allergic kid1) (waiting kid1 table1) (hungry kid1)
         (not-allergic kid2) (waiting kid2 table1) (hungry kid2))
  (:goal (and (served kid1) (served kid2))))
